// The agent library's public face: everything an agent's code may import.

export {
  type AiGuardOptions,
  type AiTool,
  type GuardedAiTool,
  type GuardedAiTools,
  guardTools,
} from './adapters/ai-sdk.ts';
export { guardLangChainTools, type LangChainGuardOptions, type LangChainTool } from './adapters/langchain.ts';
export { guardServer, type McpGuardOptions, type McpServerLike } from './adapters/mcp.ts';
export type { McpResult } from './adapters/mcp-result.ts';
export {
  guardOpenAiAgent,
  guardOpenAiTools,
  type OpenAiAgentLike,
  type OpenAiGuardOptions,
  type OpenAiTool,
} from './adapters/openai-agents.ts';
export { isRefusal, type Refusal } from './adapters/refusal.ts';
export {
  type ApprovalBackend,
  type ApprovalOutcome,
  type ApprovalRequest,
  type AskingContract,
  type HubApproval,
  HubApprovals,
  type LocalAnswer,
  localApproval,
  type PendingApproval,
} from './approvals.ts';
export { BundleRejectedError, type Succession } from './bundle/signature.ts';
export type { Signing } from './bundle/verifier.ts';
export { type Clock, systemClock, type Timer } from './clock.ts';
export {
  BufferFullError,
  ConfigurationError,
  EventsRejectedError,
  HubConnectionError,
  HubResponseError,
  type OnError,
  type RejectedEvent,
} from './failure.ts';
export {
  type CallRounds,
  DeniedError,
  type RoundOptions,
  type RunOptions,
  type ToolArgs,
  type Warning,
} from './guard/call.ts';
export type { CodeContract, RunCounts } from './guard/contract.ts';
export type { Dialect, Language } from './guard/engine.ts';
export type { ContractFinding, OnFindings } from './guard/findings.ts';
export { type EventCounts, Guard } from './guard/guard.ts';
export type { BeforeHook, HookAnswer, HookCall } from './guard/hook.ts';
export type { YamlSource } from './guard/language.ts';
export type { ConnectOptions, EvaluateOptions, GuardOptions } from './guard/options.ts';
export { ResultReplacedError } from './guard/output.ts';
export type { DryRun, DryRunContract } from './guard/policy.ts';
export { type FetchedBundle, HubClient, type HubOptions, type Provenance } from './hub.ts';
export {
  type AuditAction,
  type AuditRecord,
  auditActions,
  auditRecord,
  type GuardMode,
  type HookEvaluated,
  type Principal,
  type RuleEvaluated,
  type SideEffect,
  schemaVersion,
  toWire,
  type WireEvent,
} from './record.ts';
export type { LintCode, LintFinding } from './rules/bundle/lint.ts';
export { createRedaction, looksSecret, type Redaction, type RedactionPolicy } from './rules/redact.ts';
export type { ArgumentKind, ToolArguments } from './rules/sandbox/names.ts';
export type { CommandProfile, CommandProfiles, WordKind } from './rules/sandbox/profiles/profile.ts';
export { HubSessionStore, MemorySessionStore, type SessionStore } from './sessions.ts';
export { CollectingSink, MarkEvictedError } from './sinks/collecting.ts';
export { FileSink, StdoutSink } from './sinks/line.ts';
export { type AgentManifest, ServerSink, type ServerSinkOptions } from './sinks/server.ts';
export { CompositeSink, type Sink } from './sinks/sink.ts';
export { StreamFollower } from './stream/follower.ts';
export { SseParser, type StreamFrame } from './stream/sse.ts';
export {
  type ReceivedFrame,
  type StreamRequest,
  type StreamTransport,
  sseTransport,
} from './stream/transport.ts';
export { webSocketTransport } from './stream/websocket.ts';
export type { OpenTelemetryApi } from './telemetry.ts';
