// Approvals of calls that an MCP client waits for: progress while a person decides, and the question put to the
// client's own user where the contracts allow that and the client can ask.
import { randomUUID } from 'node:crypto';
import {
  type ApprovalBackend,
  type ApprovalRequest,
  localApproval,
  type PendingApproval,
} from '../../approvals.ts';
import type { Clock } from '../../clock.ts';
import type { Id, Message, Response } from './message.ts';

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

const fieldsOf = (value: unknown): { readonly [name: string]: unknown } =>
  typeof value === 'object' && value !== null ? (value as { readonly [name: string]: unknown }) : {};

/** Whether the user of the client may decide: every contract that asks says `metadata: { elicit: true }`. */
const mayElicit = ({ contracts = [] }: ApprovalRequest): boolean =>
  contracts.length > 0 && contracts.every(({ metadata }) => metadata?.elicit === true);

export class AskingClient {
  readonly #clock: Clock;
  readonly #toClient: (message: Message, related: Id | null) => void;
  readonly #questions = new Map<Id, (answer: Response) => void>();
  #canElicit = false;
  #name = 'the client';

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

  /** @param own where the guard asks; null: nowhere */
  approvals(own: ApprovalBackend | null, call: AskedCall): ApprovalBackend {
    return {
      request: async (request, signal) => {
        const elicits = this.#canElicit && mayElicit(request);
        if (!elicits && !own) {
          throw new Error('no hub is configured, and the client does not support elicitation');
        }
        const backend = elicits || !own ? this.#elicitation(call) : own;
        return this.#withProgress(await backend.request(request, signal), request, call);
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
    return localApproval(async (request, signal) => {
      const { action, content } = fieldsOf(await this.#ask(request, call, signal));
      return {
        approved: action === 'accept' && fieldsOf(content).approve === true,
        decidedBy: `the user of ${this.#name}`,
      };
    }, this.#clock);
  }

  #ask(
    { message, args }: ApprovalRequest,
    { id: related, tool }: AskedCall,
    signal: AbortSignal,
  ): Promise<unknown> {
    const id = `reeve:approval:${randomUUID()}`;
    const shown = JSON.stringify(args);
    const text = `${message}\n\n${tool} ${shown.length > maxShown ? `${shown.slice(0, maxShown)}…` : shown}`;
    const requestedSchema = {
      type: 'object',
      properties: { approve: { type: 'boolean', title: 'Allow this call', default: false } },
      required: ['approve'],
    };
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
        { kind: 'request', id, method: 'elicitation/create', params: { message: text, requestedSchema } },
        related,
      );
    });
  }
}
