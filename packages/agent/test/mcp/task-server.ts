// A server of revision 2026-07-28 that makes tasks of its calls, as a client's requests allow it.
import type { Connect } from '../../src/cli/mcp/connection.ts';
import type { Message, Request } from '../../src/cli/mcp/message.ts';
import type { RunningServer } from './pair-servers.ts';
import type { Json } from './setting.ts';

const declared = ({ params }: Request): boolean => {
  const meta = params._meta as { readonly [key: string]: { readonly extensions?: Json } };
  return (
    meta['io.modelcontextprotocol/clientCapabilities']?.extensions?.['io.modelcontextprotocol/tasks'] !==
    undefined
  );
};

const ask = (params: object) => ({ method: 'elicitation/create', params });

export class TaskServer implements RunningServer {
  /** Calls that ran, and cancellations. */
  readonly lines: string[] = [];
  /** Told of a call that brings answers; the server does not answer it. */
  onAnswer: (answers: string) => void = () => {};
  onUpdate: () => void = () => {};
  /** By the server's own ids. */
  readonly tasks = new Map<string, Json>();

  readonly connect: Connect = ({ message }) => ({
    send: (sent) => {
      if (sent.kind !== 'request') return;
      const answer = this.#answer(sent);
      if (!answer) return;
      queueMicrotask(() => message({ kind: 'response', id: sent.id, ...answer } as Message));
    },
    close: async () => {},
  });

  restart = async (): Promise<void> => {};
  close = async (): Promise<void> => {};

  /** Ends the newest task. */
  end(task: Json): void {
    this.tasks.set(`own-${this.tasks.size}`, task);
  }

  /** Asks two things. */
  #choose(answers: unknown): { readonly result: Json } | null {
    const params = { message: 'sure?', requestedSchema: { type: 'object', properties: {} } };
    const inputRequests = { one: ask(params), two: ask(params) };
    if (answers === undefined)
      return { result: { resultType: 'input_required', inputRequests, requestState: 'chosen' } };
    this.onAnswer(JSON.stringify(answers));
    return null;
  }

  #answer(request: Request): { readonly result: Json } | { readonly error: Json } | null {
    const { method, params } = request;
    const complete = { resultType: 'complete' };
    if (method === 'server/discover') {
      const capabilities = { tools: {}, extensions: { 'io.modelcontextprotocol/tasks': {} } };
      return { result: { ...complete, supportedVersions: ['2026-07-28'], capabilities } };
    }
    if (method === 'tools/list') {
      const inputSchema = { type: 'object' };
      return {
        result: {
          ...complete,
          tools: ['build', 'choose'].map((name) => ({ name, inputSchema })),
          ttlMs: 0,
          cacheScope: 'private',
        },
      };
    }
    const taskId = String(params.taskId);
    if (method === 'tasks/get' && this.tasks.has(taskId))
      return { result: { ...complete, taskId, ...this.tasks.get(taskId) } };
    if (method === 'tasks/update') {
      this.lines.push(`update ${taskId} ${JSON.stringify(params.inputResponses)}`);
      this.onUpdate();
      return { result: complete };
    }
    if (method === 'tasks/cancel') {
      this.lines.push(`cancel ${taskId}`);
      return { result: complete };
    }
    if (method !== 'tools/call') return { error: { code: -32_601, message: 'no such method' } };
    if (params.name === 'choose') return this.#choose(params.inputResponses);
    this.lines.push('build');
    if (!declared(request))
      return { result: { ...complete, content: [{ type: 'text', text: 'built at once' }] } };
    const id = `own-${this.tasks.size + 1}`;
    this.tasks.set(id, { status: 'working' });
    return {
      result: { resultType: 'task', taskId: id, status: 'working', ttlMs: null, pollIntervalMs: 100 },
    };
  }
}
