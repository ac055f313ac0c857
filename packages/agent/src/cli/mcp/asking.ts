// Approvals of calls that an MCP client waits for: progress while a person decides, and the question put to the
// client's own user where the contracts allow that and the client can ask.
import { randomUUID } from 'node:crypto';
import {
  type ApprovalBackend,
  type ApprovalRequest,
  HandedOverError,
  localApproval,
  type PendingApproval,
  timedOut,
} from '../../approvals.ts';
import type { Clock } from '../../clock.ts';
import { type Fields, fieldsOf } from '../../fields.ts';
import { nameIn } from './era.ts';
import type { Id, Message, Response } from './message.ts';
import type { ProxyRound } from './rounds.ts';
import { missingCapability } from './translation.ts';

/** Milliseconds between two notifications of progress: clients give up after about a minute of silence. */
const progressInterval = 10_000;
/** Characters of the arguments that a person is shown. */
const maxShown = 2000;

/** The call that is asked about. */
interface AskedCall {
  readonly id: Id;
  readonly progressToken: Id | null;
  readonly tool: string;
}

interface LocalDecision {
  readonly approved: boolean;
  readonly decidedBy: string;
}

/** A call of a modern client, which gets questions as a result and brings the answers with a retry. */
interface ModernCall {
  readonly round: ProxyRound;
  /** As the client declares them with its request. */
  readonly capabilities: Fields;
  readonly clientName: string;
  /** The call may go on as a task, without the client's request. */
  readonly canHandOver: boolean;
}

/** True if the user of the client may decide: every contract that asks contains `metadata: { elicit: true }`. */
const mayElicit = ({ contracts = [] }: ApprovalRequest): boolean =>
  contracts.length > 0 && contracts.every(({ metadata }) => metadata?.elicit === true);

export class AskingClient {
  readonly #clock: Clock;
  readonly #toClient: (message: Message, related: Id | null) => void;
  readonly #questions = new Map<Id, (answer: Response) => void>();
  #canElicit = false;
  #name = nameIn(null);

  constructor(clock: Clock, toClient: (message: Message, related: Id | null) => void) {
    this.#clock = clock;
    this.#toClient = toClient;
  }

  /** @param capabilities as the client declares them */
  greet(capabilities: unknown, name: string): void {
    const { elicitation } = fieldsOf(capabilities);
    const modes = fieldsOf(elicitation);
    // A client of before there were modes names none, and shows forms.
    this.#canElicit =
      elicitation !== undefined && (Object.keys(modes).length === 0 || modes.form !== undefined);
    this.#name = name;
  }

  /** True when the response answers a question of ours. */
  take(answer: Response): boolean {
    const onAnswer = this.#questions.get(answer.id);
    onAnswer?.(answer);
    return onAnswer !== undefined;
  }

  /**
   * @param own where the guard asks; null: nowhere
   * @param modern null for a client that can be asked while its call is open
   */
  approvals(own: ApprovalBackend | null, call: AskedCall, modern: ModernCall | null): ApprovalBackend {
    const canElicit = modern
      ? missingCapability('elicitation/create', {}, modern.capabilities) === null
      : this.#canElicit;
    return {
      request: async (request, signal) => {
        const elicits = canElicit && mayElicit(request);
        if (!elicits && !own) {
          throw new Error('no hub is configured, and the client does not support elicitation');
        }
        if (elicits && modern) return this.#askByResult(request, call, modern);
        const backend = elicits || !own ? this.#elicitation(call) : own;
        const pending = await backend.request(request, signal);
        if (!elicits && modern?.canHandOver && pending.id !== null)
          return this.#handedOver(pending.id, request, modern.round);
        return this.#withProgress(pending, request, call);
      },
    };
  }

  #withProgress(pending: PendingApproval, { message }: ApprovalRequest, call: AskedCall): PendingApproval {
    const { id, progressToken } = call;
    if (progressToken === null) return pending;
    return {
      id: pending.id,
      outcome: async (signal) => {
        const over = new AbortController();
        // The server's own progress follows, and must be more than ours.
        let progress = 0;
        const tell = (): void => {
          if (over.signal.aborted) return;
          progress += 1e-6;
          const params = { progressToken, progress, message: `Approval pending: ${message}` };
          this.#toClient({ kind: 'notification', method: 'notifications/progress', params }, id);
          this.#clock.after(progressInterval, tell);
        };
        tell();
        try {
          return await pending.outcome(signal);
        } finally {
          over.abort();
        }
      },
    };
  }

  #elicitation(call: AskedCall): ApprovalBackend {
    return localApproval(
      async (request, signal) => decisionOf(await this.#ask(request, call, signal), this.#name),
      this.#clock,
    );
  }

  /** @throws HandedOverError while the client has not brought the answer */
  #askByResult(
    request: ApprovalRequest,
    { tool }: AskedCall,
    { round, clientName }: ModernCall,
  ): Promise<PendingApproval> {
    const answer = round.approvalAnswer;
    if (answer === null) {
      round.askApproval({ mode: 'form', ...questionOf(request, tool) }, request.timeout * 1000);
      throw new HandedOverError();
    }
    if (!round.isInTime(this.#clock.now()))
      return Promise.resolve({ id: null, outcome: async () => timedOut(request.timeoutEffect) });
    return localApproval(async () => decisionOf(answer, clientName), this.#clock).request(request);
  }

  /** The question is the hub's; the client asks about the task. */
  #handedOver(
    id: string,
    { timeout, timeoutEffect, message }: ApprovalRequest,
    round: ProxyRound,
  ): PendingApproval {
    return {
      id,
      outcome: () => {
        round.handOver({ id, deadline: this.#clock.now() + timeout * 1000, timeoutEffect, message });
        return Promise.reject(new HandedOverError());
      },
    };
  }

  #ask(request: ApprovalRequest, { id: related, tool }: AskedCall, signal: AbortSignal): Promise<unknown> {
    const id = `reeve:approval:${randomUUID()}`;
    return new Promise((resolve, reject) => {
      const end = (): void => {
        this.#questions.delete(id);
        signal.removeEventListener('abort', abort);
      };
      const abort = (): void => {
        end();
        const params = { requestId: id, reason: 'decided elsewhere, or too late' };
        this.#toClient({ kind: 'notification', method: 'notifications/cancelled', params }, related);
        reject(signal.reason);
      };
      signal.addEventListener('abort', abort, { once: true });
      this.#questions.set(id, ({ result, error }) => {
        end();
        if (error) reject(new Error(`the client failed to ask: ${error.message}`));
        else resolve(result);
      });
      this.#toClient(
        { kind: 'request', id, method: 'elicitation/create', params: questionOf(request, tool) },
        related,
      );
    });
  }
}

/** The question as an elicitation's parameters. */
function questionOf({ message, args }: ApprovalRequest, tool: string): Fields {
  const written = JSON.stringify(args);
  const excerpt = written.length > maxShown ? `${written.slice(0, maxShown)}…` : written;
  return {
    message: `${message}\n\n${tool} ${excerpt}`,
    requestedSchema: {
      type: 'object',
      properties: { approve: { type: 'boolean', title: 'Allow this call', default: false } },
      required: ['approve'],
    },
  };
}

function decisionOf(answer: unknown, clientName: string): LocalDecision {
  const { action, content } = fieldsOf(answer);
  return {
    approved: action === 'accept' && fieldsOf(content).approve === true,
    decidedBy: `the user of ${clientName}`,
  };
}
