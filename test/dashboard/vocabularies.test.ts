// Agents that are given a document which they cannot load: who deploys or assigns is told at once, and the agent's own
// panel says why it keeps what it has.
import { afterAll, beforeAll, expect } from 'vitest';
import { itAtNight } from '../runs.ts';
import { AgentStreams } from './agent-streams.ts';
import { accessible, noFaults, view } from './browser.ts';
import { tenantWithKey } from './file-hub.ts';
import { library } from './seed.ts';

const { hub, cookie, key } = await tenantWithKey();
const agents = new AgentStreams(hub, key);
const ruleset = `apiVersion: service/v1
kind: Ruleset
metadata: {name: words}
rules:
  - {id: a, type: pre, tool: send_mail, when: {args.to: {contains: "@evil.example"}}, then: {action: block, message: no}}
`;
const told =
  /is a ruleset, but agents of \/api\/v1 load only .*\. 1 agent .* keeps the document in use: of-contracts\./;
const toldOfContracts =
  /contains contracts, but agents of \/v1 load only rulesets\. .* keeps the document in use: of-rules\./;

beforeAll(async () => {
  const { token } = (await hub.call('POST', '/api/v1/auth/operator-token', { cookie })).body;
  const saved = await fetch(`${hub.url}/v1/rulesets/words?deploy=false`, {
    method: 'PUT',
    headers: { Authorization: `Bearer ${token}`, 'Content-Type': 'application/x-yaml' },
    body: ruleset,
  });
  expect(saved.status).toBe(201);
  const yaml_content = library.replace('name: shop', 'name: sheets');
  expect((await hub.call('POST', '/api/v1/bundles', { cookie, body: { yaml_content } })).status).toBe(201);
  await agents.open('of-contracts', '&bundle_name=words');
  await agents.open('of-rules', '&bundle_name=sheets', '/v1/stream');
});
afterAll(() => {
  agents.close();
});

itAtNight(
  'a deployment and an assignment name the agents that cannot load the document, whose panel says so',
  async () => {
    const visit = await view(hub.url, { cookie });
    const { page } = visit;
    const message = (text: RegExp) => page.locator('.message').filter({ hasText: text });
    await page.goto('/dashboard/rulesets/words');
    await page.getByRole('button', { name: 'Deploy v1', exact: true }).click();
    const ruleset = page.getByRole('region', { name: /^(Change|Deployment of) words/ });
    await ruleset.getByRole('button', { name: 'Deploy v1 to production' }).click();
    await ruleset.locator('.notice').getByText(told).waitFor();
    // A bundle of contracts to an agent of the other API: beside how far it has come.
    await page.goto('/dashboard/bundles/sheets');
    await page.getByRole('button', { name: 'Deploy v1', exact: true }).click();
    const plan = page.getByRole('region', { name: /^(Change|Deployment of) sheets/ });
    await plan.getByRole('button', { name: 'Deploy v1 to production' }).click();
    await plan.getByText('sheets v1 is deployed to production.').waitFor();
    await plan.locator('.notice').getByText(toldOfContracts).waitFor();
    await accessible(page);
    await page.goto('/dashboard/agents/of-contracts');
    const agent = page.getByRole('region', { name: /^Agent / });
    await agent
      .getByText(
        'The agent cannot load its document. It last connected through /api/v1, where agents load contracts, but its document is a ruleset. It keeps its current document.',
      )
      .waitFor();
    await accessible(page);
    // Assigned by hand: the live stream renders the new assignment before the answer arrives.
    await page.route('**/api/v1/agent-registrations/of-contracts', async (route) => {
      const answer = await route.fetch();
      if (route.request().method() !== 'GET') await agent.getByText('assigned to this agent').waitFor();
      await route.fulfill({ response: answer });
    });
    await agent.getByLabel('Assigned bundle').selectOption('words');
    await agent.getByRole('button', { name: 'Save agent' }).click();
    await message(/^Agent saved\. .*of-contracts/).waitFor();
    // And by a rule.
    await page.goto('/dashboard/fleet?view=assignment');
    await page.getByRole('button', { name: 'New rule' }).click();
    const rule = page.getByRole('dialog', { name: 'New rule' });
    await rule.getByLabel('Agents', { exact: true }).fill('of-rules');
    await rule.getByLabel('Bundle', { exact: true }).selectOption('sheets');
    await rule.getByRole('button', { name: 'Add rule' }).click();
    await message(/of-rules\.$/).waitFor();
    await page.goto('/dashboard/agents/of-rules');
    await agent
      .getByText(
        /last connected through \/v1, where agents load rulesets, but its document is a contract bundle/,
      )
      .waitFor();
    noFaults(visit);
    await visit.context.close();
  },
);
