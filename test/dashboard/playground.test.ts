// The playground: what is typed stays, the hub confirms it or says what differs, and calls come from events.
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { programArgs } from '../../packages/agent/test/program.ts';
import { itAtNight } from '../runs.ts';
import { accessible, noFaults, view } from './browser.ts';
import { tenantOfFile } from './file-hub.ts';
import { library } from './seed.ts';

const { hub, cookie } = await tenantOfFile();
let event: string;

const sandboxed = `apiVersion: service/v1
kind: ContractBundle
metadata: { name: sandboxed }
defaults: { mode: enforce }
contracts:
  - { id: box, type: sandbox, tool: copy, within: [/w], allows: { commands: [ship] }, message: "Outside of /w" }
`;

const judging = `apiVersion: service/v1
kind: ContractBundle
metadata: { name: judging }
defaults: { mode: enforce }
contracts:
  - id: only-leads
    type: pre
    tool: pay
    when:
      all:
        - principal.claims.team: { not_equals: leads }
        - args.amount: { gt: 10 }
    then: { effect: deny, message: "Only leads pay {args.amount}" }
  - id: few-payments
    type: session
    limits: { max_calls_per_tool: { pay: 2 } }
    then: { effect: deny, message: "Enough payments" }
`;

beforeAll(async () => {
  for (const yaml of [library, library.replace('gt: 500', 'gt: 50')])
    await hub.call('POST', '/api/v1/bundles', { cookie, body: { yaml_content: yaml } });
  const { key } = await hub.key(cookie);
  await hub.call('POST', '/api/v1/events', {
    key,
    agent: 'payer-1',
    body: {
      events: [
        {
          call_id: 'refund-1',
          agent_id: 'payer-1',
          tool_name: 'refund',
          verdict: 'call_allowed',
          payload: {
            tool_args: { amount: 120 },
            principal: { role: 'clerk', claims: { team: 'leads' } },
          },
        },
      ],
    },
  });
  event = (await hub.call('GET', '/api/v1/events?limit=1', { cookie })).body[0].id;
});

describe('the playground', () => {
  it('offers the calls of the range and the environment of the top bar', async () => {
    const visit = await view(hub.url, { cookie });
    const { page } = visit;
    const calls = page.getByLabel('Load reported call').getByRole('option');
    await page.goto('/dashboard/test');
    await calls.getByText(/^refund, payer-1/).waitFor({ state: 'attached' });
    await page.getByRole('radio', { name: 'Development' }).check({ force: true });
    await calls.getByText('No calls in this range').waitFor({ state: 'attached' });
    await page.goto('/dashboard/test?from=2025-01-01T00:00:00Z&to=2025-01-01T01:00:00Z');
    await calls.getByText('No calls in this range').waitFor({ state: 'attached' });
    await page.getByRole('button', { name: /^Time range/ }).click();
    await page.getByRole('dialog', { name: 'Time range' }).waitFor();
    noFaults(visit);
    await visit.context.close();
  });

  it('evaluates documents with operators that agents register, as the hub does', async () => {
    const setOperators = (custom_operators: readonly string[]) =>
      hub.call('PUT', '/api/v1/settings/tools', { cookie, body: { custom_operators } });
    await setOperators(['in_network']);
    const visit = await view(hub.url, { cookie });
    const { page } = visit;
    let release: () => void = () => {};
    const released = new Promise<void>((resolve) => {
      release = resolve;
    });
    await page.route('**/api/v1/settings/tools', async (route) => {
      await released;
      await route.continue();
    });
    await page.goto('/dashboard/test');
    await page.locator('.cm-content').click();
    await page.keyboard.press('ControlOrMeta+a');
    await page.keyboard.insertText(judging.replace('{ gt: 10 }', '{ in_network: "10.0.0.0/8" }'));
    await page.getByLabel('Tool', { exact: true }).fill('pay');
    await page.getByLabel('Arguments as JSON').fill('{"amount": 20}');
    await page.getByText('More fields').click();
    await page.getByLabel('Claims as JSON').fill('{"team": "clerks"}');
    const result = page.getByRole('region', { name: 'Result' });
    // Without the operators of agents, the browser would judge otherwise than the hub.
    await result.locator('.skeleton').waitFor();
    release();
    await result.getByText('Only leads pay 20').waitFor();
    await result.getByText(/same result, denied/).waitFor();
    await result.getByText(/is unknown: it was 20/).waitFor();
    const cases = page.getByRole('region', { name: 'Cases' });
    await cases.getByLabel('Case name').fill('a clerk');
    await cases.getByRole('button', { name: 'Save case', exact: true }).click();
    await cases.getByText('1 of 1 case as expected.').waitFor();
    noFaults(visit);
    await visit.context.close();
    await setOperators([]);
  });

  it('judges arguments and commands by their declarations, as the hub does', async () => {
    const declare = (tool_arguments: object, command_profiles: object) =>
      hub.call('PUT', '/api/v1/settings/tools', { cookie, body: { tool_arguments, command_profiles } });
    await declare({ copy: { where: 'path', line: 'command' } }, { ship: { operands: ['text'] } });
    const visit = await view(hub.url, { cookie });
    const { page } = visit;
    await page.goto('/dashboard/test');
    await page.locator('.cm-content').click();
    await page.keyboard.press('ControlOrMeta+a');
    await page.keyboard.insertText(sandboxed);
    await page.getByLabel('Tool', { exact: true }).fill('copy');
    const result = page.getByRole('region', { name: 'Result' });
    await page.getByLabel('Arguments as JSON').fill('{"where": "x/../../etc/passwd"}');
    await result.getByText(/same result, denied/).waitFor();
    const cases = page.getByRole('region', { name: 'Cases' });
    await cases.getByLabel('Case name').fill('leaves the folder');
    await cases.getByRole('button', { name: 'Save case', exact: true }).click();
    await cases.getByText('1 of 1 case as expected.').waitFor();
    await page.getByLabel('Arguments as JSON').fill('{"line": "ship /etc/passwd"}');
    await result.getByText(/same result, allowed/).waitFor();
    noFaults(visit);
    await visit.context.close();
    await declare({}, {});
  });

  itAtNight('takes a version and a call from the address, and keeps both there', async () => {
    const visit = await view(hub.url, { cookie });
    const { page } = visit;
    const result = page.getByRole('region', { name: 'Result' });
    await page.goto('/dashboard/test');
    await page.getByLabel('Load bundle').selectOption('shop');
    await page.getByLabel('Load reported call').selectOption(event);
    await result.getByText('watch-refunds').waitFor();
    expect(await page.getByLabel('Role').inputValue()).toBe('clerk');
    expect(await page.getByLabel('Claims as JSON').inputValue()).toContain('leads');
    await result.getByText('matched, observe mode').waitFor();
    await result.getByText(/same result, allowed, for every contract/).waitFor();
    await accessible(page);
    // The first version lets more through.
    await page.getByLabel('Version', { exact: true }).selectOption('1');
    await result.getByText('did not fire').first().waitFor();
    const address = new URL(page.url());
    expect(Object.fromEntries(address.searchParams)).toEqual({ bundle: 'shop', version: '1', event });
    // Somebody else with the address sees the same.
    const other = await view(hub.url, { cookie });
    await other.page.goto(address.pathname + address.search);
    await other.page.getByRole('region', { name: 'Result' }).getByText('watch-refunds').waitFor();
    expect(await other.page.getByLabel('Arguments as JSON').inputValue()).toContain('120');
    await page.goBack();
    await result.getByText('matched, observe mode').waitFor();
    noFaults(visit);
    noFaults(other);
    await other.context.close();
    await visit.context.close();
  });

  itAtNight('keeps what was typed while its person is elsewhere, until it is undone', async () => {
    const visit = await view(hub.url, { cookie });
    const { page } = visit;
    await page.goto('/dashboard/test');
    await page.getByLabel('Tool', { exact: true }).fill('refund');
    await page.getByLabel('Arguments as JSON').fill('{"amount": 77}');
    await page.locator('.cm-content').click();
    await page.keyboard.press('ControlOrMeta+a');
    await page.keyboard.insertText(library);
    await page.getByRole('region', { name: 'Result' }).getByText('watch-refunds').waitFor();
    await page.getByRole('link', { name: 'Audit' }).click();
    await page.getByRole('heading', { name: 'Audit', level: 1 }).waitFor();
    await page.goBack();
    await page.getByRole('region', { name: 'Result' }).getByText('watch-refunds').waitFor();
    await page.reload();
    await page.getByRole('region', { name: 'Result' }).getByText('watch-refunds').waitFor();
    expect(await page.getByLabel('Arguments as JSON').inputValue()).toBe('{"amount": 77}');
    await page.getByRole('button', { name: 'Discard changes' }).click();
    await page
      .getByRole('region', { name: 'Result' })
      .getByText('No contract applies to this tool.')
      .waitFor();
    noFaults(visit);
    await visit.context.close();
  });

  itAtNight(
    'evaluates claims and counters, and writes them into the file that the agent program runs',
    async () => {
      const visit = await view(hub.url, { cookie });
      const { page } = visit;
      await page.goto('/dashboard/test');
      await page.locator('.cm-content').click();
      await page.keyboard.press('ControlOrMeta+a');
      await page.keyboard.insertText(judging);
      await page.getByLabel('Tool', { exact: true }).fill('pay');
      await page.getByLabel('Arguments as JSON').fill('{"amount": 20}');
      const result = page.getByRole('region', { name: 'Result' });
      await page.getByText('More fields').click();
      await page.getByLabel('Claims as JSON').fill('{"team": "clerks"}');
      await result.getByText('Only leads pay 20').waitFor();
      await page.getByLabel('Claims as JSON').fill('{"team": ');
      await result.getByText(/not valid JSON/).waitFor();
      await page.getByLabel('Claims as JSON').fill('{"team": "leads"}');
      await result.getByText(/same result, allowed/).waitFor();
      await page.getByLabel('Calls of this tool').fill('2');
      await result.getByText(/same result, denied/).waitFor();
      await accessible(page);
      const cases = page.getByRole('region', { name: 'Cases' });
      await cases.getByLabel('Case name').fill('a third payment');
      await cases.getByRole('button', { name: 'Save case', exact: true }).click();
      await cases.getByText('1 of 1 case as expected.').waitFor();
      const folder = mkdtempSync(join(tmpdir(), 'reeve-cases-'));
      const download = page.waitForEvent('download');
      await cases.getByRole('button', { name: 'Download cases' }).click();
      await (await download).saveAs(join(folder, 'cases.yaml'));
      writeFileSync(join(folder, 'bundle.yaml'), judging);
      const said = execFileSync(process.execPath, [...programArgs(), 'test', join(folder, 'cases.yaml')], {
        encoding: 'utf8',
      });
      expect(said).toContain('1 of 1 cases passed');
      rmSync(folder, { recursive: true });
      await cases.getByLabel('Case name').fill('a third payment');
      await cases.getByRole('button', { name: 'Save case', exact: true }).click();
      await cases.getByRole('button', { name: /^Delete/ }).click();
      await cases.getByRole('row', { name: /a third payment/ }).waitFor({ state: 'detached' });
      noFaults(visit);
      await visit.context.close();
    },
  );

  itAtNight(
    'says what differs when the hub judges otherwise, and nothing of what was typed before',
    async () => {
      const visit = await view(hub.url, { cookie });
      const { page } = visit;
      // Stands for a page that is older than its hub: the hub's answer is changed on its way.
      await page.route('**/api/v1/bundles/evaluate', async (route) => {
        const answer = await route.fetch();
        const body = await answer.json();
        const [first] = body.contracts_evaluated;
        if (first) Object.assign(first, { fired: false, matched: true });
        await route.fulfill({
          response: answer,
          json: { ...body, verdict: 'allow', deciding_contract: null },
        });
      });
      await page.goto('/dashboard/test');
      const result = page.getByRole('region', { name: 'Result' });
      await result.getByText('The hub returns a different result.').waitFor();
      await result.getByText('Verdict: browser denied, hub allowed.').waitFor();
      await result.getByText('no-secrets: fired only in the browser.').waitFor();
      await accessible(page);
      await page.getByLabel('Tool', { exact: true }).fill('nothing');
      await result.getByText('No contract applies to this tool.').waitFor();
      expect(await result.getByText('The hub returns a different result.').count()).toBe(0);
      await result.getByText(/same result, allowed/).waitFor();
      noFaults(visit);
      await visit.context.close();
    },
  );
});
