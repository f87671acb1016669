//! `ralph-loop mcp`: the agent's tools as an MCP server. Standard output carries the protocol and
//! nothing else; whatever goes wrong in a tool is told to the agent, and the server goes on.

mod stories;
mod tools;

use std::process::ExitCode;
use std::sync::Arc;

use ralph_base::env::Env;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, Implementation,
    ListToolsResult, PaginatedRequestParams, ServerCapabilities, ServerConfig,
};
use rmcp::service::{RequestContext, RunningServiceCancellationToken, ServerInitializeError};
use rmcp::transport::stdio;
use rmcp::{ErrorData, RoleServer, ServerHandler, ServiceExt};
use serde_json::Value;
use tokio::runtime;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::{Mutex, mpsc};
use tokio::task::spawn_blocking;

use crate::exit::Failure;
use tools::{AgentTool, Caller, tools};

/// What the agent is told about the server as a whole.
const INSTRUCTIONS: &str = "What you work on, and how you report it. A claim that the checks \
                            contradict is refused with the reason; fix that and call again.";

/// Serves until standard input is closed, or a signal asks for the end.
pub(crate) fn run(env: &Env) -> Result<ExitCode, Failure> {
    let server = Server { env: env.clone(), tools: Arc::new(tools()), turn: Arc::default() };
    let turn = Arc::clone(&server.turn);
    let runtime = runtime::Builder::new_current_thread().enable_all().build()?;
    let served = runtime.block_on(serve(server));
    // A check that still runs was told to end, and is waited for.
    drop(runtime.block_on(turn.lock()));
    // The thread that reads may wait for another line for ever.
    runtime.shutdown_background();
    served.map(|()| ExitCode::SUCCESS)
}

async fn serve(server: Server) -> Result<(), Failure> {
    let signals = [SignalKind::terminate(), SignalKind::interrupt(), SignalKind::hangup()];
    let (asked, mut end) = mpsc::channel::<()>(1);
    for kind in signals {
        let (mut signal, asked) = (signal(kind)?, asked.clone());
        tokio::spawn(async move {
            signal.recv().await;
            // Somebody else may have asked already.
            let _ = asked.try_send(());
        });
    }
    let running = tokio::select! {
        running = server.serve(stdio()) => running,
        _ = end.recv() => return Ok(()),
    };
    let running = match running {
        // A client that went away before it said anything is no failure of ours.
        Err(ServerInitializeError::ConnectionClosed(_)) => return Ok(()),
        running => running?,
    };
    let token: RunningServiceCancellationToken = running.cancellation_token();
    tokio::spawn(async move {
        end.recv().await;
        token.cancel();
    });
    running.waiting().await?;
    Ok(())
}

/// What answers the client.
struct Server {
    env: Env,
    tools: Arc<Vec<AgentTool>>,
    /// Tools are called one after the other, as commands of one agent would be.
    turn: Arc<Mutex<()>>,
}

impl ServerHandler for Server {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
            .with_server_info(Implementation::new("ralph", env!("CARGO_PKG_VERSION")))
            .with_instructions(INSTRUCTIONS)
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let tools = self.tools.iter().map(|tool| tool.described.clone());
        Ok(ListToolsResult::with_all_items(tools.collect()))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let Some(at) = self.tools.iter().position(|tool| tool.described.name == request.name)
        else {
            let names: Vec<&str> = self.tools.iter().map(|tool| &*tool.described.name).collect();
            let why = format!("no tool `{}`; there are {}", request.name, names.join(", "));
            return Err(ErrorData::invalid_params(why, None));
        };
        let given = Value::Object(request.arguments.unwrap_or_default());
        let (env, tools) = (self.env.clone(), Arc::clone(&self.tools));
        let turn = Arc::clone(&self.turn).lock_owned().await;
        let called = spawn_blocking(move || {
            let _turn = turn;
            let caller = Caller { env: &env, stop: &|| context.ct.is_cancelled() };
            let tool = tools.get(at).ok_or_else(|| "no such tool".to_owned())?;
            (tool.call)(given, &caller).map_err(|failure| failure.explain())
        });
        let said = called.await.unwrap_or_else(|error| Err(format!("the tool broke: {error}")));
        let result = match said {
            Ok(text) => CallToolResult::success(vec![ContentBlock::text(text)]),
            Err(text) => CallToolResult::error(vec![ContentBlock::text(text)]),
        };
        Ok(result.into())
    }
}
