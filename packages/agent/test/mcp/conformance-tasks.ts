// Tasks of the example server of revision 2026-07-28, which its SDK does not have: tools that the conformance suite
// looks for, before the server's own.
import { randomUUID } from 'node:crypto';
import type { McpHttpHandler } from '@modelcontextprotocol/server';
import { form, textOf } from './conformance-content.ts';
import type { Json } from './setting.ts';

const extension = 'io.modelcontextprotocol/tasks';
const content = (text: string) => ({ content: [textOf(text)] });
const elicit = (field: string) => ({
  method: 'elicitation/create',
  params: { mode: 'form', ...form(`Your ${field}?`, { [field]: { type: 'string' } }) },
});

class ExampleError extends Error {
  readonly code: number;
  readonly data: Json | undefined;

  constructor(code: number, message: string, data?: Json) {
    super(message);
    this.code = code;
    this.data = data;
  }
}

interface Task {
  readonly taskId: string;
  readonly createdAt: string;
  status: string;
  end: Json;
  pending: { readonly [key: string]: Json };
  answers: Json;
}

type Work = (args: Json, task: Task) => Json | Promise<Json>;

/** Tools that become tasks. */
const taskTools: { readonly [name: string]: Work } = {
  slow_compute: async ({ seconds, label }) => {
    // The suite only needs the order of the ends.
    await new Promise((resolve) => setTimeout(resolve, Number(seconds) * 100).unref());
    return content(`computed ${label}`);
  },
  failing_job: () => ({ ...content('the job failed'), isError: true }),
  protocol_error_job: () => {
    throw new ExampleError(-32_603, 'the server broke');
  },
  confirm_delete: async ({ filename }, task) => {
    await asked(task, { confirm: elicit('confirmation') });
    return content(`deleted ${filename}`);
  },
  multi_input: async (_args, task) => {
    await asked(task, { first: elicit('first name'), second: elicit('second name') });
    return content('both are there');
  },
  test_tool_with_task: ({ name }) => content(`Hello, ${name}!`),
};

/** Resolves when the client has answered. */
async function asked(task: Task, questions: Task['pending']): Promise<void> {
  task.pending = questions;
  task.status = 'input_required';
  while (Object.keys(task.pending).length > 0)
    await new Promise((resolve) => setTimeout(resolve, 20).unref());
  task.status = 'working';
}

class TaskTools {
  readonly #tasks = new Map<string, Task>();

  /** Null: not a request for tasks and their tools. @throws ExampleError */
  answer(method: string, params: Json): Json | null {
    const capabilities = (params._meta as Json)['io.modelcontextprotocol/clientCapabilities'] as
      | { readonly extensions?: Json }
      | undefined;
    const knowsTasks = capabilities?.extensions?.[extension] !== undefined;
    const requiredCapabilities = { extensions: { [extension]: {} } };
    const missing = new ExampleError(-32_021, 'the client needs tasks', { requiredCapabilities });
    if (method === 'tools/call') return this.#called(params, knowsTasks, missing);
    if (!method.startsWith('tasks/')) return null;
    if (!['tasks/get', 'tasks/update', 'tasks/cancel'].includes(method))
      throw new ExampleError(-32_601, 'Method not found');
    if (!knowsTasks) throw missing;
    const task = this.#tasks.get(String(params.taskId));
    if (!task) throw new ExampleError(-32_602, 'no such task');
    if (method === 'tasks/get')
      return { ...shown(task), ...inputOf(task), ...task.end, resultType: 'complete' };
    if (method === 'tasks/update') {
      const sent = params.inputResponses as Json;
      task.pending = Object.fromEntries(Object.entries(task.pending).filter(([key]) => !(key in sent)));
    } else if (task.status === 'working' || task.status === 'input_required') task.status = 'cancelled';
    return { resultType: 'complete' };
  }

  #called(params: Json, knowsTasks: boolean, missing: ExampleError): Json | null {
    const args = (params.arguments ?? {}) as Json;
    const name = String(params.name);
    if (name === 'greet') return { ...content(`Hello, ${args.name}!`), resultType: 'complete' };
    const work = Object.hasOwn(taskTools, name) ? taskTools[name] : undefined;
    if (!work) return null;
    if (!knowsTasks && name === 'slow_compute') return { ...content('at once'), resultType: 'complete' };
    if (!knowsTasks) throw missing;
    if (name !== 'test_tool_with_task') return this.#begin(work, args);
    const { user_name: answer } = (params.inputResponses ?? {}) as { user_name?: { content: Json } };
    return answer
      ? this.#begin(work, answer.content)
      : { resultType: 'input_required', inputRequests: { user_name: elicit('name') } };
  }

  #begin(work: Work, args: Json): Json {
    const createdAt = new Date().toISOString();
    const task: Task = {
      ...{ taskId: randomUUID(), createdAt, status: 'working', end: {}, pending: {}, answers: {} },
    };
    this.#tasks.set(task.taskId, task);
    void this.#run(work, args, task);
    return { ...shown(task), resultType: 'task' };
  }

  async #run(work: Work, args: Json, task: Task): Promise<void> {
    const end = await Promise.resolve()
      .then(() => work(args, task))
      .then(
        (result) => ({ status: 'completed', end: { result: { ...result, resultType: 'complete' } } }),
        ({ code, message }) => ({ status: 'failed', end: { error: { code, message } } }),
      );
    if (task.status !== 'cancelled') Object.assign(task, end);
  }
}

const shown = ({ taskId, createdAt, status }: Task): Json => ({
  ...{ taskId, createdAt, status, lastUpdatedAt: createdAt, ttlMs: 600_000, pollIntervalMs: 100 },
});
const inputOf = ({ status, pending }: Task): Json =>
  status === 'input_required' ? { inputRequests: pending } : {};

const json = (status: number, body: object): Response => Response.json(body, { status });

/** Parts missing in the server's answer: the extension among its capabilities, and the tools of tasks in its list. */
function completed(method: string, result: Json): Json {
  if (method === 'server/discover') {
    const capabilities = { ...(result.capabilities as Json), extensions: { [extension]: {} } };
    return { ...result, capabilities };
  }
  const names = ['greet', ...Object.keys(taskTools)];
  const tools = names.map((name) => ({ name, description: name, inputSchema: { type: 'object' } }));
  return { ...result, tools: [...(result.tools as object[]), ...tools] };
}

export function withTasks(handler: McpHttpHandler): McpHttpHandler {
  const tools = new TaskTools();
  const fetch: McpHttpHandler['fetch'] = async (request, ...rest) => {
    const { headers, url, signal } = request;
    const text = request.method === 'POST' ? await request.text() : null;
    const own = (): Promise<Response> =>
      handler.fetch(new Request(url, { method: request.method, headers, body: text, signal }), ...rest);
    if (text === null) return own();
    let message: { readonly id?: unknown; readonly method?: string; readonly params?: Json };
    try {
      message = JSON.parse(text);
    } catch {
      return own();
    }
    const { id, method = '', params = {} } = message;
    if (method === 'server/discover' || method === 'tools/list') {
      const answer = await own();
      const body = await answer.text();
      const sent = JSON.parse(/^data: (.*)$/m.exec(body)?.[1] ?? body);
      const { result } = sent as { readonly result?: Json };
      return json(answer.status, result ? { ...sent, result: completed(method, result) } : sent);
    }
    if (typeof params._meta !== 'object') return own();
    try {
      const result = tools.answer(method, params);
      if (!result) return own();
      const repeated = [method, String(params.name ?? params.taskId)];
      if (headers.get('mcp-method') !== repeated[0] || headers.get('mcp-name') !== repeated[1])
        return json(400, { jsonrpc: '2.0', id, error: { code: -32_020, message: 'HeaderMismatch' } });
      return json(200, { jsonrpc: '2.0', id, result });
    } catch (failure) {
      if (!(failure instanceof ExampleError)) throw failure;
      const { code, message, data } = failure;
      return json(code === -32_601 ? 404 : 400, {
        jsonrpc: '2.0',
        id,
        error: { code, message, ...(data ? { data } : {}) },
      });
    }
  };
  return { ...handler, fetch };
}
