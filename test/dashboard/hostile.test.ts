// Texts of strangers: scripts, marks that turn text around, control characters and very long names, stored in every
// record that takes them. hostile-input.test.ts types them.
import { beforeAll, describe, expect, it } from 'vitest';
import { adminPages, ownPages, pages } from '../../src/dashboard/pages/registry.ts';
import { isNightly, rowsOfRun } from '../runs.ts';
import { accessible, noFaults, view } from './browser.ts';
import { hubWithKey } from './file-hub.ts';
import { hostile, looked, settled } from './strangers.ts';

const { hub, cookie, key } = await hubWithKey();
const refused: string[] = [];
const details: string[] = [];

/** Sends it; a refusal of a text is as good as showing it harmlessly, and is kept to be counted. */
// biome-ignore lint/suspicious/noExplicitAny: answers of many shapes
async function put(method: string, path: string, body: unknown, agent?: string): Promise<any> {
  const answer = await hub.call(method, path, agent === undefined ? { cookie, body } : { key, agent, body });
  if (answer.status >= 300) refused.push(`${method} ${path}: ${answer.status}`);
  expect(answer.status).toBeLessThan(500);
  return answer.body;
}

beforeAll(async () => {
  for (const [n, text] of hostile.entries()) {
    const short = text.slice(0, 255);
    await put('POST', '/api/v1/keys', { env: 'production', label: short });
    const contract = {
      contract_id: `hostile-${n}`,
      name: short,
      type: 'pre',
      description: text,
      tags: [text.slice(0, 60)],
      definition: {
        tool: text.slice(0, 100),
        when: { 'args.x': { equals: text } },
        then: { effect: 'deny', message: text.slice(0, 400) },
      },
    };
    await put('POST', '/api/v1/contracts', contract);
    await put('POST', '/api/v1/compositions', {
      name: `hostile-${n}`,
      description: text,
      contracts: [{ contract_id: `hostile-${n}` }],
    });
    await put('POST', '/api/v1/users', {
      email: `${n}${short.slice(0, 40)}@example.com`,
      password: 'correct horse battery',
    });
    await put('POST', '/api/v1/notifications/channels', {
      name: short,
      channel_type: 'chat_bot',
      config: { bot_token: '1:a', chat_id: '1', allowed_user_ids: [short.slice(0, 60)] },
      filters: { agent_patterns: [short], contract_names: [short] },
    });
    await put('POST', '/api/v1/assignment-rules', {
      pattern: short,
      priority: n + 1,
      bundle_name: 'starter',
      env: 'production',
      tag_match: { [short.slice(0, 40)]: short.slice(0, 40) },
    });
    const event = {
      call_id: text,
      agent_id: short,
      tool_name: text,
      verdict: 'call_denied',
      mode: text,
      payload: {
        tool_args: { [short]: text, nested: { deep: [text] }, path: text, command: text },
        session_id: short,
        run_id: text,
        decision_source: text,
        decision_name: text,
        reason: text,
        policy_version: text,
        principal: { role: text, user_id: text },
        contracts_evaluated: [{ id: text, type: text, message: text, fired: true }],
        workflow: {
          name: text,
          version: text,
          active_stage: text,
          completed_stages: [text],
          blocked_reason: text,
          pending_approval: {},
        },
      },
    };
    const plain = { ...event, call_id: `plain-${n}`, agent_id: `agent-${n}`, tool_name: `tool-${n}` };
    await put(
      'POST',
      '/api/v1/events',
      {
        events: [
          event,
          plain,
          // An outcome in a word that every object has.
          { ...plain, verdict: 'constructor' },
        ],
      },
      `agent-${n}`,
    );
    const approval = await put(
      'POST',
      '/api/v1/approvals',
      {
        tool_name: text.slice(0, 255),
        tool_args: { command: text, path: text, old_string: text, new_string: `${text}!` },
        message: text,
        contract_name: short,
        session_id: short,
        decision_source: short,
        timeout: 3_000,
      },
      `agent-${n}`,
    );
    if (typeof approval?.id === 'string') details.push(`/approvals/${approval.id}`);
  }
  const events = (await hub.call('GET', '/api/v1/events?limit=50', { cookie })).body as { id: string }[];
  details.push(...events.map(({ id }) => `/events/${id}`));
  details.push(
    ...hostile.flatMap((text, n) => [
      `/contracts/hostile-${n}`,
      `/compositions/hostile-${n}`,
      `/agents/agent-${n}`,
      `/agents/${encodeURIComponent(text.slice(0, 255))}`,
      `/runs/agent-${n}/${encodeURIComponent(text.slice(0, 255))}`,
      `/bundles/${encodeURIComponent(text.slice(0, 255))}`,
      `/rulesets/${encodeURIComponent(text.slice(0, 255))}`,
      `/explore?search=${encodeURIComponent(text.slice(0, 255))}`,
      `/${encodeURIComponent(text.slice(0, 255))}`,
    ]),
    '/fleet?view=assignment',
    '/inbox?view=decided',
  );
}, 120_000);

const everyPage = [...pages, ...adminPages, ...ownPages];

describe('texts of strangers', () => {
  it('took most of them: what is refused is shown nowhere', () => {
    // Control characters and lengths beyond a limit are refused in many fields; the others are stored as they are.
    expect(refused.filter((line) => line.includes('/events'))).toEqual([]);
    expect(refused.length).toBeLessThan(26);
  });

  it('stay texts on every page, on a screen and on a phone', { timeout: 240_000 }, async () => {
    const visit = await view(hub.url, { cookie });
    const { page } = visit;
    const wrong: string[] = [];
    for (const path of rowsOfRun([...everyPage.map((one) => one.path), ...details], 6)) {
      await page.goto(`/dashboard${path}`);
      const head = page.locator('main h1, main h2, .empty-title').first();
      const came = await head.waitFor().then(
        () => true,
        () => false,
      );
      if (!came) {
        wrong.push(`${path.slice(0, 80)}: no page came`);
        continue;
      }
      await page.evaluate(settled);
      wrong.push(...(await looked(page, path)));
    }
    expect(wrong.join('\n')).toBe('');
    noFaults(visit);
    await visit.context.close();
  });

  it.runIf(isNightly)('leave every page as accessible as it was', { timeout: 120_000 }, async () => {
    const visit = await view(hub.url, { cookie });
    const { page } = visit;
    for (const { path } of everyPage) {
      await page.goto(`/dashboard${path}`);
      await page.locator('main h1').first().waitFor();
      await page.evaluate(settled);
      await accessible(page, 'twice');
    }
    noFaults(visit);
    await visit.context.close();
  });
});
