// Questions of a server to a legacy client while its calls run. Contracts judge a question as a result, and the answers
// are recorded with the call, as in the rounds of a modern client.
import type { McpResult } from '../../adapters/mcp-result.ts';
import { fieldsOf, without } from '../../fields.ts';
import type { RoundOptions, RunningCall } from '../../guard/call.ts';
import { foldCase } from '../../rules/fold.ts';
import { codes, failureOf, type Id, type Message, type Request, type Response } from './message.ts';
import { inputMethods, methodMissing, notification } from './translation.ts';

/** Questions of a session without an answer. */
const maxPending = 1000;

/** Receivers of a refusal. */
export interface QuestionPorts {
  toServer(message: Message): void;
  /** Ends the call with a result that contracts judge. */
  endCall(id: Id, answer: Response): void;
}

/** A call at the server. */
interface OpenCall {
  readonly id: Id;
  readonly running: RunningCall<McpResult>;
  questionCount: number;
}

export interface QuestionedCall {
  /** For the guard. */
  readonly rounds: RoundOptions<McpResult>;
  /** The call has ended. */
  end(): void;
}

/** Questions that ended their calls, as results. */
const refusals = new WeakSet<object>();

export class ServerQuestions {
  readonly #ports: QuestionPorts;
  /** In the order of their start. */
  readonly #calls = new Map<Id, OpenCall>();
  /** Questions at the client, by id. */
  readonly #pending = new Map<Id, { readonly call: OpenCall; readonly key: string }>();

  constructor(ports: QuestionPorts) {
    this.#ports = ports;
  }

  /** A call of the client, before it is judged. */
  begin(id: Id): QuestionedCall {
    let call: OpenCall | null = null;
    return {
      rounds: {
        earlier: null,
        isInterim: (result) => refusals.has(result),
        carry: () => ({ isError: true, content: [{ type: 'text', text: 'The question was refused.' }] }),
        onStart: (running) => {
          call = { id, running, questionCount: 0 };
          this.#calls.set(id, call);
        },
      },
      end: () => {
        if (call && this.#calls.get(id) === call) this.#calls.delete(id);
        for (const [question, pending] of this.#pending)
          if (pending.call === call) this.#pending.delete(question);
      },
    };
  }

  /**
   * @param related the client's request that the server's belongs to; null: none that is known
   * @returns the request for the client; null: it was refused
   */
  admit(request: Request, related: Id | null): Request | null {
    const { id, method, params } = request;
    if (foldCase(method).startsWith('tasks/')) return this.#refuse(methodMissing(id, method));
    if (!inputMethods.includes(method)) return request;
    const calls = this.#callsOf(related);
    const call = calls[0];
    if (!call) return request;
    if (this.#pending.size >= maxPending)
      return this.#refuse(failureOf(id, codes.server, `${maxPending} questions wait for answers`));
    call.questionCount += 1;
    const key = `question-${call.questionCount}`;
    // A client that answered with a task would send the answer itself past the record.
    const question = { ...request, params: without(params, 'task') };
    const result = {
      resultType: 'input_required',
      inputRequests: { [key]: { method, params: question.params } },
    };
    const refusing = calls.find(({ running }) => running.isWithheld(result));
    if (refusing) return this.#endCall(refusing, id, result);
    this.#pending.set(id, { call, key });
    return question;
  }

  /** The client's response to a question, or to anything else. */
  answered({ id, result }: Response): void {
    const pending = this.#pending.get(id);
    this.#pending.delete(id);
    if (pending && result !== undefined) pending.call.running.answered({ [pending.key]: fieldsOf(result) });
  }

  /** Calls that the question may belong to; the one that it is recorded with first. */
  #callsOf(related: Id | null): readonly OpenCall[] {
    if (related === null) return [...this.#calls.values()].reverse();
    const own = this.#calls.get(related);
    return own ? [own] : [];
  }

  #endCall({ id }: OpenCall, question: Id, result: McpResult): null {
    refusals.add(result);
    this.#ports.endCall(id, { kind: 'response', id, result });
    this.#refuse(failureOf(question, codes.server, 'a contract refused the question'));
    this.#ports.toServer(notification('notifications/cancelled', { requestId: id }));
    return null;
  }

  #refuse(answer: Response): null {
    this.#ports.toServer(answer);
    return null;
  }
}
