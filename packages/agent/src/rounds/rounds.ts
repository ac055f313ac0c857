// The rounds of one server's calls: seals what the next round needs, and lets each sealed state go on once.
import type { Clock } from '../clock.ts';
import type { CallRounds } from '../guard/call.ts';
import type { LargeStates } from './large-states.ts';
import {
  checkRetry,
  digestOf,
  maxInnerBytes,
  maxRounds,
  newNonce,
  type RoundSeal,
  type RoundState,
  RoundStateError,
  roundLife,
  roundsOf,
} from './round-state.ts';
import type { UsedNonces } from './used-nonces.ts';

/** A call as it came, first or again. */
export interface RoundCall {
  readonly tool: string;
  /** The arguments as the client sent them. */
  readonly args: unknown;
  /** The session that counts the call. */
  readonly session: string;
}

/** A retry whose state is valid, and that nobody else goes on with. */
export interface OpenRound {
  readonly earlier: CallRounds;
  /** The server's own state; null if it gave none. */
  readonly inner: string | null;
  /** True if the round asked for an approval of the call, before the server got it. */
  readonly isApproval: boolean;
  /** Epoch milliseconds until which the client may answer. */
  readonly deadline: number;
  /** Identifies the round. */
  readonly nonce: string;
  /**
   * Uses the state, right before the tool runs. When the promise resolves, the use is durable, if the nonces are.
   * @throws RoundStateError if another process was quicker
   */
  use(): Promise<void>;
  /** Ends the work on the retry. A state that was not used may be sent again. */
  end(): void;
}

/** A state that was used before, or is being used. */
export class AnsweredRoundError extends RoundStateError {
  /** Identifies the round. */
  readonly nonce: string;

  constructor(nonce: string) {
    super('this round was already answered');
    this.nonce = nonce;
  }
}

export interface RoundsPorts {
  readonly seal: RoundSeal;
  readonly nonces: UsedNonces;
  readonly states: LargeStates;
  readonly clock: Clock;
  /** The label of the server. A state of another one is refused. */
  readonly server: string;
  /** Milliseconds in which a question of the server is to be answered; at least, and by default, 600,000. */
  readonly inputTimeout?: number;
}

export class Rounds {
  readonly #ports: RoundsPorts;
  /** Nonces of retries that are under way. */
  readonly #open = new Set<string>();

  constructor(ports: RoundsPorts) {
    this.#ports = ports;
  }

  /**
   * The sealed state for the next round of a call.
   * @param approvalMs milliseconds in which an approval is to be decided; null: the round asks for none
   * @throws RoundStateError if there may be no further round, or no room for the server's own state
   */
  async carry(
    { tool, args, session }: RoundCall,
    rounds: CallRounds,
    inner: string | null,
    approvalMs: number | null = null,
  ): Promise<string> {
    const { seal, clock, server, states, inputTimeout = 0 } = this.#ports;
    if (rounds.count >= maxRounds) throw new RoundStateError(`the call has ended after ${maxRounds} rounds`);
    const nonce = newNonce();
    const life = approvalMs === null ? Math.max(roundLife, inputTimeout) : approvalMs + roundLife;
    const expiresAt = clock.now() + life;
    const isInnerKept = inner !== null && Buffer.byteLength(inner) > maxInnerBytes;
    if (isInnerKept) await states.keep(nonce, inner, expiresAt);
    const state: RoundState = {
      ...rounds,
      ...{ nonce, tool, digest: digestOf(tool, args), server, session, expiresAt },
      ...(isInnerKept ? { inner: null, isInnerKept } : { inner }),
      isApproval: approvalMs !== null,
    };
    return seal.seal(state);
  }

  /**
   * Takes a retry's state. Call `end` on what it returns.
   * @throws AnsweredRoundError; RoundStateError for a state that is forged, expired, or another call's
   */
  async open(sealed: string, { tool, args, session }: RoundCall): Promise<OpenRound> {
    const { seal, nonces, clock, server, states } = this.#ports;
    const state = seal.open(sealed);
    const { nonce, expiresAt, isApproval, isInnerKept = false } = state;
    checkRetry(state, { digest: digestOf(tool, args), server, session, now: clock.now() });
    if (this.#open.has(nonce)) throw new AnsweredRoundError(nonce);
    this.#open.add(nonce);
    if (await nonces.has(nonce)) {
      this.#open.delete(nonce);
      throw new AnsweredRoundError(nonce);
    }
    const inner = isInnerKept ? await states.read(nonce) : state.inner;
    if (isInnerKept && inner === null) {
      this.#open.delete(nonce);
      throw new RoundStateError(
        'the state of the server is not kept any more: call the tool again without it',
      );
    }
    return {
      earlier: roundsOf(state),
      ...{ inner, isApproval, nonce, deadline: isApproval ? expiresAt - roundLife : expiresAt },
      use: async () => {
        if (!(await nonces.use(nonce, expiresAt))) throw new AnsweredRoundError(nonce);
        if (isInnerKept) await states.drop(nonce);
      },
      end: () => void this.#open.delete(nonce),
    };
  }
}
