// AI assistance in the console API's words.

import { Streamed } from '../../http/contract/call.ts';
import type { Handlers, Hub } from '../../http/contract/handler.ts';
import { principalOf } from '../../http/contract/principal.ts';
import { iso } from '../../http/contract/render.ts';
import type { Input } from '../../http/contract/route.ts';
import { omitUndefined } from '../../shared/omit-undefined.ts';
import type { Setting } from '../../tenant/rules/settings.ts';
import { aiDayRecord, roundedCost } from '../record.ts';
import type { AssistEvent } from '../use-cases/conversation.ts';
import type { aiRoutes } from './routes.ts';

type AssistInput = Pick<Input<(typeof aiRoutes)['assist']>, 'body'>;

/** Both paths answer the same. */
async function assist(
  { app }: Hub,
  { body }: AssistInput,
  caller: Parameters<typeof principalOf>[0],
): Promise<Streamed> {
  const { messages, current_yaml: currentYaml } = body;
  const gone = new AbortController();
  const conversation = { messages, currentYaml: currentYaml || null };
  const events = await app.assistant.assist(principalOf(caller), conversation, gone.signal);
  return new Streamed(framesOf(events), {
    headers: { 'Cache-Control': 'no-cache', 'X-Accel-Buffering': 'no' },
    keepalive: ': keepalive\n\n',
    ended: () => gone.abort(),
  });
}

export const ai: Handlers<typeof aiRoutes> = {
  aiSettings: async ({ app }, _input, caller) => render(await app.aiSettings.get(principalOf(caller))),

  async putAiSettings({ app }, { body }, caller) {
    const { provider, api_key: apiKey, model, base_url: baseUrl } = body;
    const change = { provider, ...omitUndefined({ apiKey, model, baseUrl }) };
    return render(await app.aiSettings.update(principalOf(caller), change));
  },

  async deleteAiSettings({ app }, _input, caller) {
    await app.aiSettings.remove(principalOf(caller));
    return null;
  },

  async testAiSettings({ app }, _input, caller, { limits }) {
    const { model, latencyMs, error } = await app.aiSettings.test(principalOf(caller), limits.count);
    return { ok: error === null, model, latency_ms: latencyMs, error };
  },

  async aiUsage({ app }, { query }, caller) {
    const days = await app.aiSettings.listUsage(principalOf(caller), query.days);
    const sum = (field: 'inputTokens' | 'outputTokens' | 'queries' | 'durationMs') =>
      days.reduce((total, day) => total + day[field], 0);
    const costs = days.flatMap(({ cost }) => (cost === null ? [] : [cost]));
    const seconds = sum('durationMs') / 1000;
    return {
      total_input_tokens: sum('inputTokens'),
      total_output_tokens: sum('outputTokens'),
      total_cost_usd: costs.length === 0 ? null : roundedCost(costs.reduce((total, cost) => total + cost, 0)),
      query_count: sum('queries'),
      avg_tokens_per_second: seconds > 0 ? Math.round((sum('outputTokens') / seconds) * 100) / 100 : 0,
      daily: days.map((day) => aiDayRecord.render('console', day)),
    };
  },

  async generateDescription({ app }, { body }, caller) {
    const { name, type, definition_yaml: definitionYaml, tags } = body;
    const contract = { name, type, definitionYaml, tags: tags ?? [] };
    return { description: await app.assistant.describe(principalOf(caller), contract) };
  },

  assist,
  assistContracts: assist,
};

function render(setting: Setting<'ai'> | null) {
  const masked = setting?.value.maskedKey ?? null;
  return {
    provider: setting?.value.provider ?? ('' as const),
    api_key: masked,
    api_key_masked: masked,
    model: setting?.value.model ?? null,
    base_url: setting?.value.baseUrl ?? null,
    configured: setting !== null,
    updated_at: setting ? iso(setting.updatedAt) : null,
    updated_by: setting?.updatedBy ?? null,
  };
}

const frame = (type: string, data: object): string =>
  `event: ${type}\ndata: ${JSON.stringify({ type, ...data })}\n\n`;

function frameOf(event: AssistEvent): string {
  switch (event.kind) {
    case 'text':
      return frame('content_chunk', { content: event.text });
    case 'toolStarted':
      return frame('tool_call_start', { tool: event.tool, id: event.id });
    case 'toolEnded': {
      const { id, tool, result, durationMs } = event;
      return frame('tool_call_result', { id, tool, result, duration_ms: durationMs });
    }
    case 'used': {
      const { inputTokens, outputTokens, cost, durationMs } = event.use;
      return frame('usage', {
        input_tokens: inputTokens,
        output_tokens: outputTokens,
        total_tokens: inputTokens + outputTokens,
        duration_ms: Math.round(durationMs),
        tokens_per_second: durationMs > 0 ? Math.round((outputTokens / durationMs) * 100_000) / 100 : 0,
        estimated_cost_usd: roundedCost(cost),
        model: event.model,
      });
    }
    case 'failed':
      return frame('error', { error: event.message });
  }
}

/** An answer that failed does not end with [DONE]. */
async function* framesOf(events: AsyncGenerator<AssistEvent>): AsyncGenerator<string, undefined> {
  let failed = false;
  for await (const event of events) {
    failed = event.kind === 'failed';
    yield frameOf(event);
  }
  if (!failed) yield 'data: [DONE]\n\n';
}
