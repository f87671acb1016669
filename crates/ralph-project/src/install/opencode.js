// Ralph's hooks as a plugin of opencode and its kin. The first line, AGENT and FOLDER, is written by ralph-loop.
import { spawnSync } from "node:child_process"

export const Ralph = async ({ directory }) => {
  const ask = (hook, event) => {
    const input = JSON.stringify({ cwd: directory, ...event })
    const { stdout } = spawnSync(`${FOLDER}${hook}`, ["--agent", AGENT], { input, encoding: "utf8" })
    try {
      return JSON.parse(stdout).hookSpecificOutput ?? {}
    } catch {
      return {}
    }
  }
  return {
    "tool.execute.before": async ({ tool, sessionID }, { args }) => {
      const event = { hook_event_name: "PreToolUse", session_id: sessionID, tool_name: tool, tool_input: args }
      const reason = ask("ralph-pre-tool", event).permissionDecisionReason
      if (reason) throw new Error(reason)
    },
    "tool.execute.after": async ({ tool, sessionID, args }, result) => {
      const { output, metadata } = result
      const event = { hook_event_name: "PostToolUse", session_id: sessionID, tool_name: tool, tool_input: args }
      const context = ask("ralph-post-tool", { ...event, tool_response: { output, metadata } }).additionalContext
      if (context) result.output = `${output}\n${context}`
    },
    "chat.message": async ({ sessionID }, { parts }) => {
      const texts = parts.filter((part) => part.type === "text")
      const prompt = texts.map((part) => part.text).join("\n")
      const event = { hook_event_name: "UserPromptSubmit", session_id: sessionID, prompt }
      const context = ask("ralph-pre-prompt", event).additionalContext
      if (context && texts.length > 0) texts[texts.length - 1].text += `\n\n${context}`
    },
  }
}
