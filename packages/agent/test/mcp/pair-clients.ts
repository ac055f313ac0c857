// A client of each era as its SDK makes it, with one face for both.
import {
  Client as ModernClient,
  StreamableHTTPClientTransport as ModernHttp,
} from '@modelcontextprotocol/client';
import { Client as LegacyClient } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport as LegacyHttp } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import {
  CallToolResultSchema,
  ElicitRequestSchema,
  ToolListChangedNotificationSchema,
} from '@modelcontextprotocol/sdk/types.js';
import type { Json } from './setting.ts';

export interface CallOptions {
  readonly signal?: AbortSignal;
  readonly onprogress?: (progress: { readonly progress: number }) => void;
}

/** Transports of both SDKs have this form. */
export interface Wire {
  onmessage?: ((message: never) => void) | undefined;
}

export interface PairClient {
  connect(transport: Wire): Promise<void>;
  tools(): Promise<string[]>;
  call(name: string, args?: Json, options?: CallOptions): Promise<Json>;
  resources(): Promise<string[]>;
  resource(uri: string): Promise<Json>;
  prompts(): Promise<string[]>;
  prompt(name: string, args: { [name: string]: string }): Promise<Json>;
  /** Awaits changes of the list of tools. */
  follow(changed: () => void): Promise<void>;
  instructions(): string | undefined;
  close(): Promise<void>;
}

const info = { name: 'pairs', version: '1.0.0' };
interface FormField {
  readonly type?: string;
  readonly default?: string | number | boolean;
}

/** The user of both clients leaves what a form suggests, and is sure of the rest. */
function answerOf({ params }: { readonly params: object }) {
  const { requestedSchema } = params as { readonly requestedSchema?: { readonly properties?: object } };
  const fields = Object.entries(requestedSchema?.properties ?? {}) as [string, FormField][];
  const content = Object.fromEntries(
    fields.map(([name, field]) => [name, field.default ?? (field.type === 'boolean' ? true : 'an answer')]),
  );
  return { action: 'accept' as const, content };
}

export function legacyClient(canElicit = true): PairClient {
  const client = new LegacyClient(info, { capabilities: canElicit ? { elicitation: {} } : {} });
  if (canElicit) client.setRequestHandler(ElicitRequestSchema, async (request) => answerOf(request));
  return {
    connect: (transport) => client.connect(transport as never),
    tools: async () => (await client.listTools()).tools.map(({ name }) => name),
    call: async (name, args = {}, options = {}) =>
      (await client.callTool({ name, arguments: args }, CallToolResultSchema, options)) as Json,
    resources: async () => (await client.listResources()).resources.map(({ uri }) => uri),
    prompts: async () => (await client.listPrompts()).prompts.map(({ name }) => name),
    resource: async (uri) => (await client.readResource({ uri })) as Json,
    prompt: async (name, args) => (await client.getPrompt({ name, arguments: args })) as Json,
    follow: async (changed) => client.setNotificationHandler(ToolListChangedNotificationSchema, changed),
    instructions: () => client.getInstructions(),
    close: () => client.close(),
  };
}

export function modernClient(canElicit = true): PairClient {
  const client = new ModernClient(info, {
    capabilities: canElicit ? { elicitation: { form: {} } } : {},
    versionNegotiation: { mode: { pin: '2026-07-28' }, probe: { timeoutMs: 30_000 } },
  });
  if (canElicit) client.setRequestHandler('elicitation/create', async (request) => answerOf(request));
  return {
    connect: (transport) => client.connect(transport as never),
    tools: async () =>
      (await client.listTools(undefined, { cacheMode: 'refresh' })).tools.map(({ name }) => name),
    call: async (name, args = {}, options = {}) =>
      (await client.callTool({ name, arguments: args }, options as never)) as Json,
    resources: async () => (await client.listResources()).resources.map(({ uri }) => uri),
    prompts: async () => (await client.listPrompts()).prompts.map(({ name }) => name),
    resource: async (uri) => (await client.readResource({ uri }, { cacheMode: 'refresh' })) as Json,
    prompt: async (name, args) => (await client.getPrompt({ name, arguments: args })) as Json,
    follow: async (changed) => {
      client.setNotificationHandler('notifications/tools/list_changed', changed);
      await client.listen({ toolsListChanged: true });
    },
    instructions: () => client.getInstructions(),
    close: () => client.close(),
  };
}

export const legacyTransport = (url: string): Wire => new LegacyHttp(new URL(url)) as Wire;
export const modernTransport = (url: string): Wire => new ModernHttp(new URL(url)) as Wire;
