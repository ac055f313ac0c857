// The size of answers of the real process: large things are stored, every list is read through, and no answer is over 4
// MiB.
import { afterAll, beforeAll, expect, it } from 'vitest';
import { SharedHub } from './shared-hub.ts';

const hub = new SharedHub();
const maxAnswer = 4 * 1024 * 1024;
const large = 'x'.repeat(1_000_000);
let cookie = '';
let key = '';

interface Answer {
  readonly status: number;
  readonly bytes: number;
  readonly next: string | null;
  readonly body: never;
}

async function get(path: string, headers: { [name: string]: string } = { cookie }): Promise<Answer> {
  const answer = await fetch(`${hub.url}${path}`, { headers });
  const text = await answer.text();
  const bytes = Buffer.byteLength(text);
  expect(bytes, path).toBeLessThanOrEqual(maxAnswer);
  const next = /^<(.+)>; rel="next"$/.exec(answer.headers.get('link') ?? '')?.[1] ?? null;
  return { status: answer.status, bytes, next, body: JSON.parse(text) as never };
}

/** The items of a list, read through its links. */
async function all(path: string): Promise<{ readonly pages: number; readonly items: { id: string }[] }> {
  const items: { id: string }[] = [];
  let pages = 0;
  for (let next: string | null = path; next !== null; pages++) {
    const page: Answer = await get(next);
    items.push(...(page.body as { id: string }[]));
    next = page.next;
  }
  return { pages, items };
}

const asKey = async (method: string, path: string, body: unknown, agent = 'a') => {
  const answer = await hub.call(method, path, { key, agent, body });
  expect(answer.status, `${method} ${path}`).toBeLessThan(300);
  return answer.body;
};

beforeAll(async () => {
  await hub.start();
  cookie = await hub.admin();
  key = (await hub.key(cookie)).key;
});
afterAll(() => hub.remove());

it('of approvals with large arguments list their sizes; each has them whole', async () => {
  const message = 'é'.repeat(10_000);
  for (let i = 0; i < 12; i++) {
    const body = { tool_name: 't', message, tool_args: { text: large, i } };
    await asKey('POST', '/api/v1/approvals', body, `agent-${i}`);
  }
  const { items } = await all('/api/v1/approvals?limit=5');
  expect(new Set(items.map(({ id }) => id)).size).toBe(12);
  for (const item of items) {
    expect(item).toMatchObject({ tool_args: { _truncated: true }, message: { _truncated: true } });
    expect((await get(`/api/v1/approvals/${item.id}`)).body).toMatchObject({
      message,
      tool_args: { text: large },
    });
  }
});

it('of events with large payloads come in pages that lead to every one', async () => {
  for (let batch = 0; batch < 20; batch++) {
    const events = Array.from({ length: 14 }, (_, i) => ({
      call_id: `${batch}-${i}`,
      agent_id: `agent-${i % 5}`,
      tool_name: 'write_file',
      verdict: 'call_allowed',
      mode: 'enforce',
      timestamp: new Date(Date.UTC(2026, 4, 1) + batch * 1000 + i).toISOString(),
      payload: { decision_name: `rule-${i}`, tool_args: { text: 'x'.repeat(60_000) } },
    }));
    await asKey('POST', '/api/v1/events', { events });
  }
  const { pages, items } = await all('/api/v1/events?limit=1000');
  expect(new Set(items.map(({ id }) => id)).size).toBe(280);
  expect(pages).toBeGreaterThan(1);
  expect(items[0]).toMatchObject({ payload: { decision_name: 'rule-13', tool_args: { _truncated: true } } });
});

it('of session values are read up to 4 MiB together, and refused at once above it', async () => {
  const keys = Array.from({ length: 10 }, (_, i) => `k${i}`);
  for (const one of keys) await asKey('PUT', `/api/v1/sessions/${one}`, { value: large });
  const few = await asKey('POST', '/api/v1/sessions/batch', { keys: keys.slice(0, 4) });
  expect(Object.keys(few.values)).toHaveLength(4);
  const many = await hub.call('POST', '/api/v1/sessions/batch', { key, agent: 'a', body: { keys } });
  expect([many.status, many.body.code]).toEqual([413, 'response_too_large']);
});

it('of the library come in pages too', async () => {
  const headers = { cookie };
  for (let i = 0; i < 7; i++) {
    const body = {
      contract_id: `c${i}`,
      name: `Contract ${i}`,
      description: '€'.repeat(2000),
      type: 'pre',
      definition: { tool: 't', note: 'x'.repeat(250_000) },
    };
    await hub.call('POST', '/api/v1/contracts', { cookie, body });
  }
  const first = await get('/api/v1/contracts?limit=5', headers);
  expect(first.next).toBe('/api/v1/contracts?limit=5&offset=5');
  const { items } = await all('/api/v1/contracts?limit=5');
  expect(items).toHaveLength(7);
  expect(items[0]).toMatchObject({ contract_id: 'c6', description: { _truncated: true, bytes: 6002 } });
});
