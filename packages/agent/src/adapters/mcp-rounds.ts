// Tools of a guarded MCP server that ask their user: each retry goes on with the call that asked. Revision 2026-07-28
// has `input_required` results and a `requestState` that the client sends back; the server's own state travels inside.
import { systemClock } from '../clock.ts';
import type { CallRounds, Governs, RoundOptions, ToolArgs } from '../guard/call.ts';
import { MemoryStates } from '../rounds/large-states.ts';
import { RoundSeal, RoundStateError } from '../rounds/round-state.ts';
import { type OpenRound, type RoundCall, Rounds } from '../rounds/rounds.ts';
import { MemoryNonces } from '../rounds/used-nonces.ts';
import { isInputRequired, type McpResult } from './mcp-result.ts';

/** The part of the SDK's `extra` that contains a retry. SDK 1 has none of it. */
interface RequestContext {
  readonly mcpReq?: {
    readonly requestState?: () => unknown;
    readonly inputResponses?: unknown;
    readonly signal?: AbortSignal;
  };
}

/** A serving entry of the SDK makes a server for each connection or request: rounds belong to the guard. */
const roundsOf = new WeakMap<Governs, Rounds>();

/** @param key 32 bytes. Default: random, with the first server of the guard */
export function serverRounds(guard: Governs, key: Uint8Array | undefined): Rounds {
  const existing = roundsOf.get(guard);
  if (existing && key === undefined) return existing;
  const rounds = new Rounds({
    ...{ seal: new RoundSeal(key), nonces: new MemoryNonces(systemClock), clock: systemClock },
    states: new MemoryStates(systemClock),
    server: '',
  });
  roundsOf.set(guard, rounds);
  return rounds;
}

/** A call whose session is found when a round needs it. */
export type McpCall = Omit<RoundCall, 'session'> & { readonly session: () => string };

/** One request of a client: the first of a call, or a retry. */
export class McpRound {
  readonly #rounds: Rounds;
  readonly #call: McpCall;
  readonly #open: OpenRound | null;
  #carried: CallRounds | null = null;

  private constructor(rounds: Rounds, call: McpCall, open: OpenRound | null) {
    this.#rounds = rounds;
    this.#call = call;
    this.#open = open;
  }

  /** @throws RoundStateError */
  static async begin(rounds: Rounds, call: McpCall, extra: unknown): Promise<McpRound> {
    const { requestState, inputResponses } = (extra as RequestContext | undefined)?.mcpReq ?? {};
    const sealed = requestState?.();
    if (sealed === undefined && inputResponses === undefined) return new McpRound(rounds, call, null);
    if (typeof sealed !== 'string')
      throw new RoundStateError('a retry needs the request state of the round before');
    return new McpRound(rounds, call, await rounds.open(sealed, { ...call, session: call.session() }));
  }

  /** The SDK's `extra` as the server's own code reads it: with its own state. */
  contextOf(extra: unknown): unknown {
    if (!this.#open) return extra;
    const { inner } = this.#open;
    const context = extra as RequestContext;
    return { ...context, mcpReq: { ...context.mcpReq, requestState: () => inner ?? undefined } };
  }

  /**
   * For the guard. The SDK runs a tool several times for one request of a client before 2026-07-28, and asks the
   * client in between.
   * @param extra of this run
   */
  optionsOf(extra: unknown): RoundOptions<McpResult> {
    const earlier = this.#carried ?? this.#open?.earlier ?? null;
    const answers = (extra as RequestContext | undefined)?.mcpReq?.inputResponses;
    const hasAnswers = earlier !== null && typeof answers === 'object' && answers !== null;
    return {
      earlier,
      ...(hasAnswers ? { answers: answers as ToolArgs } : {}),
      isInterim: isInputRequired,
      carry: (result, rounds) => {
        this.#carried = rounds;
        return result;
      },
    };
  }

  /** Right before the tool runs. @throws RoundStateError */
  async use(): Promise<void> {
    if (!this.#carried) await this.#open?.use();
  }

  /** A result as the client gets it. @throws RoundStateError after too many rounds, or without room */
  async answer(result: unknown): Promise<unknown> {
    if (!this.#carried || !isInputRequired(result as McpResult)) return result;
    const { requestState = null } = result as McpResult;
    const call = { ...this.#call, session: this.#call.session() };
    return {
      ...(result as object),
      requestState: await this.#rounds.carry(call, this.#carried, requestState),
    };
  }

  end(): void {
    this.#open?.end();
  }
}
