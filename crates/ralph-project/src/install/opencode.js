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
    // It waits for its service in silence, which a run could not tell from a hang.
    event: async ({ event }) => {
      const status = event.type === "session.status" ? event.properties.status : {}
      if (process.env.RALPH_RUN && status.type === "retry")
        console.log(JSON.stringify({ type: "ralph.waiting", until: status.next, message: status.message }))
    },
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
