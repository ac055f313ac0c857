// The example servers of the conformance runs: one of each era, over HTTP.
import {
  McpServer as LegacyServer,
  ResourceTemplate as LegacyTemplate,
} from '@modelcontextprotocol/sdk/server/mcp.js';
import {
  CompleteRequestSchema,
  SubscribeRequestSchema,
  UnsubscribeRequestSchema,
} from '@modelcontextprotocol/sdk/types.js';
import {
  acceptedContent,
  createRequestStateCodec,
  fromJsonSchema,
  inputRequired,
  McpServer as ModernServer,
  ResourceTemplate as ModernTemplate,
} from '@modelcontextprotocol/server';
import { z } from 'zod';
import {
  form,
  formTools,
  logLines,
  plainTools,
  promptArguments,
  prompts,
  resources,
  steps,
  templateData,
  textOf,
} from './conformance-content.ts';
import type { Json } from './setting.ts';

const info = { name: 'example', version: '1.0.0' };
const content = (text: string) => ({ content: [textOf(text)] });
const messages = (blocks: readonly object[]) => ({
  messages: blocks.map((block) => ({ role: 'user' as const, content: block as never })),
});
const failing = () => {
  throw new Error('This tool intentionally returns an error for testing');
};
const argsSchemaOf = (name: string) =>
  Object.fromEntries((promptArguments[name] ?? []).map((argument) => [argument, z.string()]));

export function legacyExample(): LegacyServer {
  const server = new LegacyServer(info, {
    capabilities: { logging: {}, completions: {}, resources: { subscribe: true } },
  });
  const { server: low } = server;
  for (const [name, blocks] of Object.entries(plainTools))
    server.registerTool(name, { description: name }, () => ({ content: blocks as never }));
  server.registerTool('test_error_handling', { description: 'fails' }, failing);
  server.registerTool('test_tool_with_logging', { description: 'logs' }, async ({ sendNotification }) => {
    await steps((at) =>
      sendNotification({ method: 'notifications/message', params: { level: 'info', data: logLines[at] } }),
    );
    return content('done');
  });
  server.registerTool('test_tool_with_progress', { description: 'progresses' }, async (extra) => {
    const progressToken = extra._meta?.progressToken;
    await steps(async (at) => {
      if (progressToken === undefined) return;
      const params = { progressToken, progress: at * 50, total: 100 };
      await extra.sendNotification({ method: 'notifications/progress', params });
    });
    return content('done');
  });
  const sampling = { description: 'samples', inputSchema: { prompt: z.string() } };
  server.registerTool('test_sampling', sampling, async ({ prompt }, { requestId }) => {
    const question = { messages: [{ role: 'user' as const, content: textOf(prompt) }], maxTokens: 100 };
    const answer = await low.createMessage(question, { relatedRequestId: requestId });
    return content(`LLM response: ${JSON.stringify(answer.content)}`);
  });
  for (const [name, requestedSchema] of Object.entries(formTools)) {
    const inputSchema = { message: z.string().optional() };
    server.registerTool(name, { description: name, inputSchema }, async ({ message = 'please' }, extra) => {
      const question = { message, requestedSchema: requestedSchema as never };
      const { action, content: sent } = await low.elicitInput(question, {
        relatedRequestId: extra.requestId,
      });
      return content(`Elicitation completed: action=${action}, content=${JSON.stringify(sent)}`);
    });
  }
  for (const { uri, ...resource } of resources)
    server.registerResource(uri, uri, { description: uri, mimeType: resource.mimeType }, () => ({
      contents: [{ uri, ...resource } as never],
    }));
  server.registerResource(
    'template',
    new LegacyTemplate('test://template/{id}/data', { list: undefined }),
    {},
    (_, { id }) => ({
      contents: [templateData(String(id))],
    }),
  );
  for (const [name, blocks] of Object.entries(prompts))
    server.registerPrompt(name, { description: name, argsSchema: argsSchemaOf(name) }, (args) =>
      messages(blocks(args as { [name: string]: string })),
    );
  low.setRequestHandler(CompleteRequestSchema, async () => ({ completion: { values: [], hasMore: false } }));
  low.setRequestHandler(SubscribeRequestSchema, async () => ({}));
  low.setRequestHandler(UnsubscribeRequestSchema, async () => ({}));
  return server;
}

const states = createRequestStateCodec({ key: 'a key of the example server, 32 bytes or more' });
const nameForm = form('What is your name?', { name: { type: 'string' } });
const question = (text: string, maxTokens = 100) =>
  inputRequired.createMessage({ messages: [{ role: 'user', content: textOf(text) }], maxTokens });
const elicit = (spec: object) => inputRequired.elicit(spec as never);

type Context = Parameters<Parameters<ModernServer['registerPrompt']>[2]>[1] extends never
  ? never
  : {
      readonly mcpReq: {
        readonly inputResponses?: { readonly [key: string]: unknown };
        readonly envelope?: Json;
        readonly _meta?: { readonly progressToken?: string | number };
        requestState<T>(): T | undefined;
        notify(notification: object): Promise<void>;
        log(level: 'info', data: unknown): Promise<void>;
      };
    };

const has = ({ mcpReq }: Context, ...keys: readonly string[]): boolean =>
  keys.every((key) => Object.hasOwn(mcpReq.inputResponses ?? {}, key));
const capabilities = ({ mcpReq }: Context): Json =>
  (mcpReq.envelope?.['io.modelcontextprotocol/clientCapabilities'] ?? {}) as Json;
const first = { user_name: elicit(nameForm) };
const several = {
  ...first,
  greeting: question('Generate a greeting', 50),
  client_roots: inputRequired.listRoots(),
};

/** Tools that ask their client, by name. */
const askingTools: { readonly [name: string]: (context: Context) => Promise<object> | object } = {
  test_input_required_result_elicitation: ({ mcpReq }) => {
    const answer = acceptedContent<{ name: string }>(mcpReq.inputResponses as never, 'user_name');
    return typeof answer?.name === 'string'
      ? content(`Hello, ${answer.name}!`)
      : inputRequired({ inputRequests: first });
  },
  test_streaming_elicitation: (context) =>
    has(context, 'user_name') ? content('done') : inputRequired({ inputRequests: first }),
  test_input_required_result_sampling: (context) =>
    has(context, 'capital_question')
      ? content(JSON.stringify(context.mcpReq.inputResponses))
      : inputRequired({ inputRequests: { capital_question: question('What is the capital of France?') } }),
  test_input_required_result_list_roots: (context) =>
    has(context, 'client_roots')
      ? content(JSON.stringify(context.mcpReq.inputResponses))
      : inputRequired({ inputRequests: { client_roots: inputRequired.listRoots() } }),
  test_input_required_result_request_state: stateful,
  test_input_required_result_tampered_state: stateful,
  test_input_required_result_multiple_inputs: async (context) =>
    has(context, 'user_name', 'greeting', 'client_roots') && context.mcpReq.requestState() !== undefined
      ? content('state-ok')
      : inputRequired({
          inputRequests: several,
          requestState: await states.mint({ round: 1 }, context as never),
        }),
  test_input_required_result_multi_round: async (context) => {
    const round = context.mcpReq.requestState<{ round: number }>()?.round ?? 0;
    if (round === 2 && has(context, 'step2')) return content('done');
    const next = round === 1 && has(context, 'step1') ? 2 : 1;
    const step =
      next === 1
        ? { step1: elicit(form('Step 1: What is your name?', { name: { type: 'string' } })) }
        : { step2: elicit(form('Step 2: What is your favorite color?', { color: { type: 'string' } })) };
    return inputRequired({
      inputRequests: step,
      requestState: await states.mint({ round: next }, context as never),
    });
  },
  test_input_required_result_capabilities: (context) => {
    const { sampling, elicitation } = capabilities(context);
    return inputRequired({
      inputRequests: {
        ...(sampling === undefined ? {} : { capital_question: question('What is the capital of France?') }),
        ...(elicitation === undefined ? {} : first),
      },
      requestState: 'open',
    });
  },
  test_missing_capability: (context) =>
    has(context, 'capital_question')
      ? content('done')
      : inputRequired({ inputRequests: { capital_question: question('What is the capital of France?') } }),
};

async function stateful(context: Context): Promise<object> {
  if (has(context, 'confirm') && context.mcpReq.requestState() !== undefined) return content('state-ok');
  const confirm = elicit(form('Please confirm', { ok: { type: 'boolean' } }));
  return inputRequired({
    inputRequests: { confirm },
    requestState: await states.mint({ round: 1 }, context as never),
  });
}

const regionSchema = {
  type: 'object',
  properties: { region: { type: 'string', 'x-mcp-header': 'Region' } },
  required: ['region'],
};

/** @param changed announces a changed list of tools, and of prompts */
export function modernExample(changed: { tools(): void; prompts(): void }): ModernServer {
  const server = new ModernServer(info, {
    capabilities: {
      logging: {},
      completions: {},
      tools: { listChanged: true },
      prompts: { listChanged: true },
      resources: { subscribe: true, listChanged: true },
    },
    requestState: {
      verify: async (state, context) => (state === 'open' ? undefined : states.verify(state, context)),
    },
  });
  for (const [name, blocks] of Object.entries(plainTools))
    server.registerTool(name, { description: name }, () => ({ content: blocks as never }));
  server.registerTool('test_error_handling', { description: 'fails' }, failing);
  for (const name of ['test_tool_with_logging', 'test_logging_tool'])
    server.registerTool(name, { description: 'logs' }, async ({ mcpReq }) => {
      await steps((at) => mcpReq.log('info', logLines[at]));
      return content('done');
    });
  server.registerTool('test_tool_with_progress', { description: 'progresses' }, async ({ mcpReq }) => {
    const progressToken = mcpReq._meta?.progressToken;
    await steps(async (at) => {
      if (progressToken === undefined) return;
      const params = { progressToken, progress: at * 50, total: 100 };
      await mcpReq.notify({ method: 'notifications/progress', params });
    });
    return content('done');
  });
  for (const [name, run] of Object.entries(askingTools))
    server.registerTool(
      name,
      { description: name },
      async (context) => (await run(context as never)) as never,
    );
  server.registerTool(
    'test_x_mcp_header',
    { description: 'header', inputSchema: fromJsonSchema(regionSchema as never) },
    () => content('done'),
  );
  server.registerTool('test_trigger_tool_change', { description: 'changes' }, () => {
    changed.tools();
    return content('done');
  });
  server.registerTool('test_trigger_prompt_change', { description: 'changes' }, () => {
    changed.prompts();
    return content('done');
  });
  for (const { uri, ...resource } of resources)
    server.registerResource(uri, uri, { description: uri, mimeType: resource.mimeType }, () => ({
      contents: [{ uri, ...resource } as never],
    }));
  server.registerResource(
    'template',
    new ModernTemplate('test://template/{id}/data', { list: undefined }),
    {},
    (_, { id }) => ({
      contents: [templateData(String(id))],
    }),
  );
  for (const [name, blocks] of Object.entries(prompts))
    server.registerPrompt(name, { description: name, argsSchema: z.object(argsSchemaOf(name)) }, (args) =>
      messages(blocks(args as { [name: string]: string })),
    );
  server.registerPrompt('test_input_required_result_prompt', { description: 'asks' }, (context) => {
    const contextForm = form('What context should the prompt use?', { context: { type: 'string' } });
    return has(context as never, 'user_context')
      ? messages([textOf('done')])
      : (inputRequired({ inputRequests: { user_context: elicit(contextForm) } }) as never);
  });
  server.server.setRequestHandler('completion/complete', async () => ({
    completion: { values: [], hasMore: false },
  }));
  return server;
}
