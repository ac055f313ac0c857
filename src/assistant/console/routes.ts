// Routes of AI assistance: who provides it, what it used, descriptions, and answers as a stream.
import { z } from 'zod';
import { limits } from '../../admission/limit.ts';
import { instant, intQuery, line, text } from '../../http/contract/fields.ts';
import { documentBody, routes } from '../../http/contract/route.ts';
import { aiDayRecord, aiProviders } from '../record.ts';

export const aiProvider = z.enum(aiProviders);
const count = z.number().int();

export const aiSettings = z.object({
  /** Empty while nothing is set. */
  provider: z.union([aiProvider, z.literal('')]),
  /** Masked: the first 8 and last 4 characters. */
  api_key: z.string().nullable(),
  /** The same. */
  api_key_masked: z.string().nullable(),
  model: z.string().nullable(),
  /** Null: the provider's own address, as the operator of the hub set it. */
  base_url: z.string().nullable(),
  configured: z.boolean(),
  updated_at: instant.nullable(),
  updated_by: z.string().nullable(),
});

/** A line of a conversation. */
export const aiMessage = z.object({ role: z.enum(['user', 'assistant']), content: text(10_000, 1) });

/** A question to the assistant, with the earlier messages. */
export const conversation = z.object({
  messages: z
    .array(aiMessage)
    .min(1)
    .max(50)
    .refine((messages) => messages.at(-1)?.role === 'user', 'must end with a message from the user'),
  current_yaml: text(50_000).nullish(),
});

const assist = {
  method: 'POST',
  auth: ['cookie'],
  role: 'operator',
  envs: 'none',
  tag: 'ai',
  body: conversation,
  bodyLimit: documentBody,
  limits: [limits.aiQuestions],
  status: 200,
  media: 'text/event-stream',
  download: true,
  audit: 'The assistant suggests; what is saved is recorded then.',
  errors: ['forbidden', 'validation_failed', 'rate_limited', 'unavailable'],
} as const;

export const aiRoutes = routes({
  aiSettings: {
    method: 'GET',
    path: '/api/v1/settings/ai',
    auth: ['cookie'],
    role: 'viewer',
    envs: 'none',
    tag: 'ai',
    summary: 'The AI provider and its model; the key is masked',
    status: 200,
    reply: aiSettings,
    errors: [],
  },
  putAiSettings: {
    method: 'PUT',
    path: '/api/v1/settings/ai',
    auth: ['cookie'],
    role: 'admin',
    envs: 'none',
    tag: 'ai',
    summary:
      'Choose the AI provider; absent fields keep their value, null clears it. A new provider or base_url needs the api_key again',
    body: z.object({
      provider: aiProvider,
      /** The masked one keeps the key that is stored, and so does null where the provider needs a key. */
      api_key: text(500).nullish(),
      model: text(200).nullish(),
      /** https; the version belongs to it, as in `https://models.example.com/v1`. */
      base_url: text(500).nullish(),
    }),
    status: 200,
    reply: aiSettings,
    audit: ['setting.updated'],
    errors: ['forbidden', 'validation_failed', 'unprocessable'],
  },
  deleteAiSettings: {
    method: 'DELETE',
    path: '/api/v1/settings/ai',
    auth: ['cookie'],
    role: 'admin',
    envs: 'none',
    tag: 'ai',
    summary: 'Remove the AI provider and its key; safe to repeat',
    status: 204,
    audit: ['setting.deleted'],
    errors: ['forbidden'],
  },
  testAiSettings: {
    method: 'POST',
    path: '/api/v1/settings/ai/test',
    auth: ['cookie'],
    role: 'admin',
    envs: 'none',
    tag: 'ai',
    summary: 'Send the provider a short question and measure the answer; 200 even if the provider fails',
    limits: [limits.aiTests],
    status: 200,
    reply: z.object({
      ok: z.boolean(),
      model: z.string().nullable(),
      latency_ms: count.nullable(),
      error: z.string().nullable(),
    }),
    audit: 'A trial changes nothing.',
    errors: ['forbidden', 'rate_limited'],
  },
  aiUsage: {
    method: 'GET',
    path: '/api/v1/settings/ai/usage',
    auth: ['cookie'],
    role: 'viewer',
    envs: 'none',
    tag: 'ai',
    summary: 'Tokens, cost and questions by day; days without questions are left out',
    query: z.object({ days: intQuery(1, 365).default(30) }),
    status: 200,
    reply: z.object({
      total_input_tokens: count,
      total_output_tokens: count,
      /** Null when no cost is known. */
      total_cost_usd: z.number().nullable(),
      query_count: count,
      avg_tokens_per_second: z.number(),
      daily: z.array(aiDayRecord.reply('console', 'list')),
    }),
    errors: ['validation_failed'],
  },
  generateDescription: {
    method: 'POST',
    path: '/api/v1/contracts/generate-description',
    auth: ['cookie'],
    role: 'operator',
    envs: 'none',
    tag: 'ai',
    summary: 'Describe a contract in one sentence; 503 if no provider is configured',
    body: z.object({
      name: line(255),
      type: line(32),
      definition_yaml: text(50_000, 1),
      tags: z.array(line(64)).max(20).nullish(),
    }),
    limits: [limits.aiQuestions],
    status: 200,
    reply: z.object({ description: z.string() }),
    audit: 'The assistant suggests; what is saved is recorded then.',
    errors: ['forbidden', 'validation_failed', 'rate_limited', 'unavailable'],
  },
  assist: {
    ...assist,
    path: '/api/ai/assist',
    summary:
      'Answer as server-sent events: content_chunk, tool_call_start, tool_call_result, usage, then [DONE]; or ' +
      'error. 503 if no provider is configured',
  },
  assistContracts: {
    ...assist,
    path: '/api/v1/contracts/assist',
    summary: 'The same as POST /api/ai/assist',
  },
});
