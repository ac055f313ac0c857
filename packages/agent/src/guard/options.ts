// The options of a guard: those of every guard, and further ones for a guard that is connected to a hub.
import type { ApprovalBackend } from '../approvals.ts';
import type { Signing } from '../bundle/verifier.ts';
import type { Clock } from '../clock.ts';
import type { OnError } from '../failure.ts';
import type { HubClient, HubOptions } from '../hub.ts';
import type { GuardMode, Principal } from '../record.ts';
import type { IsolationMode } from '../rules/isolation.ts';
import type { RedactionPolicy } from '../rules/redact.ts';
import type { SessionStore } from '../sessions.ts';
import type { Sink } from '../sinks/sink.ts';
import type { OpenTelemetryApi } from '../telemetry.ts';
import type { CodeContract } from './contract.ts';
import type { Language } from './engine.ts';
import type { OnFindings } from './findings.ts';
import type { BeforeHook } from './hook.ts';

/** Options of every guard. */
export interface GuardOptions extends Language {
  /** Effect of a denial. Default: the bundle's `defaults.mode`. */
  readonly mode?: GuardMode;
  /** Default: with `hub`, the `env` of that client; else `production`. `Guard.connect` has `env` in its place. */
  readonly environment?: string;
  /** The person behind calls, for contracts and records. Default: nobody. */
  readonly principal?: Principal | null;
  /** The run its calls are counted in, and their `run_id`; default: a new one per guard. */
  readonly sessionId?: string;
  /** Asked in this order before any contract; the first that denies decides. Default: none. */
  readonly hooks?: readonly BeforeHook[];
  /** Contracts as code: `pre` ones before those of the document, `session` and `post` ones after them. */
  readonly contracts?: readonly CodeContract[];
  /** Sinks in addition to the collecting one, which is always first. */
  readonly sinks?: readonly Sink[];
  /** Records kept in memory (`guard.events`); default 1,000. */
  readonly maxEvents?: number;
  /** Additional redaction of records, beside values that look secret. Deciders see arguments whole. Default: none. */
  readonly redaction?: RedactionPolicy;
  /** Default: the hub's, when there is a hub; else none, and calls that need approval are denied. */
  readonly approvals?: ApprovalBackend;
  /** Default: in this process. `hub.sessions` shares counters between agents. */
  readonly sessions?: SessionStore;
  /** A hub that receives events and approval requests from a guard with contracts of its own. */
  readonly hub?: HubClient;
  /** Keeps events that the hub has not taken yet in this file. */
  readonly spoolFile?: string;
  /**
   * Milliseconds that `close` waits for the hub to take a batch of events; default 8,000. Container runtimes kill a
   * process after 10 seconds, and the warning about events that are left comes before that.
   */
  readonly closeTimeout?: number;
  /** An audit record that a sink refuses stops a call that has not run yet. Default false: `onError` is called. */
  readonly strictAudit?: boolean;
  /**
   * The least isolation of programs that tools of this guard run with `exec` of `reeve-agent/exec`. Default `none`:
   * each call of `exec` decides. With `connect`, the stricter one of this mode and the hub's holds.
   */
  readonly isolation?: IsolationMode;
  /** The OpenTelemetry API to use; null: none. Default: the installed one, if there is one. */
  readonly openTelemetry?: OpenTelemetryApi | null;
  /** Time, timers and jitter; default: the system's. For tests. */
  readonly clock?: Clock;
  /**
   * Told of what the linter finds in contracts as they are put in use. Default: a warning of the Node process that
   * names what can never match. Null: nobody, and the linter does not run.
   */
  readonly onFindings?: OnFindings | null;
  /** Told of what goes wrong in the background. Default: nobody. */
  readonly onError?: OnError;
}

/** Options of a guard that follows a hub. `url` and `apiKey` are required. */
export interface ConnectOptions extends Omit<GuardOptions, 'hub' | 'environment'>, HubOptions {
  /** Default: the hub assigns one. */
  readonly bundleName?: string;
  /** Sent to the hub for its assignment rules. */
  readonly tags?: { readonly [name: string]: string };
  /**
   * Accepted signatures of bundles; default `if-signed`: the first key that is seen and the keys that it leads to.
   * Pins are kept in the folder `reeve-pins` beside `cacheFile`, or for the life of the process.
   */
  readonly signing?: Signing;
  /** Keeps the last good bundle, for a start while the hub is away. */
  readonly cacheFile?: string;
  /** Keep counters in the hub, shared with other agents. Default false. */
  readonly hubSessions?: boolean;
  /** Default `sse`. `websocket-msgpack`: messages in MessagePack instead of JSON. */
  readonly transport?: 'sse' | 'websocket' | 'websocket-msgpack';
  /** Milliseconds of silence after which the stream is taken up again; default 120,000. */
  readonly idleTimeout?: number;
  /** Called for a server (null: all) whose tool pins may have changed at the hub, also when the stream opens. */
  readonly onToolPins?: (server: string | null) => void;
  /** Told of every bundle put in use. */
  readonly onBundle?: (bundle: {
    readonly bundleName: string;
    readonly version: number | null;
    readonly policyVersion: string;
  }) => void;
}

/** Options of a dry run, beside tool and arguments. */
export interface EvaluateOptions {
  /** Over the guard's principal. */
  readonly principal?: Principal | null;
  /** Over the guard's environment. */
  readonly environment?: string;
  /** Read by `metadata.*` selectors. Default: none. */
  readonly metadata?: { readonly [name: string]: unknown };
  /** The folder the tool would run in, for sandboxes. Over the guard's. */
  readonly cwd?: string;
  /** The tool's result; without it, post contracts are not asked. */
  readonly output?: unknown;
}
