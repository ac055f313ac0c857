// From a contract to what agents run: the library and its editor, compositions, deploying with the difference, rolling
// back, the fleet.
import { beforeAll, describe, expect, it } from 'vitest';
import { itAtNight } from '../runs.ts';
import { AgentStreams } from './agent-streams.ts';
import { accessible, go, noFaults, view, write } from './browser.ts';
import { tenantWithKey } from './file-hub.ts';
import { library } from './seed.ts';

const { hub, cookie, key } = await tenantWithKey();

const deployed = async (env: string): Promise<number | null> => {
  const { status, body } = await hub.call('GET', `/api/v1/bundles/shop/current?env=${env}`, { cookie });
  return status === 200 ? body.version : null;
};

beforeAll(async () => {
  await hub.call('POST', '/api/v1/contracts/import', { cookie, body: { yaml_content: library } });
});

describe('contracts, compositions, bundles and agents', () => {
  it('finds a mistake while it is typed, saves a version, and shows what it changed', async () => {
    const visit = await view(hub.url, { cookie });
    const { page } = visit;
    await page.goto('/dashboard/policies');
    await page.getByRole('table').getByRole('link', { name: 'no-secrets' }).press('Enter');
    const panel = page.getByRole('region', { name: 'Contract no-secrets' });
    await panel.getByRole('textbox', { name: 'Definition as YAML' }).waitFor();
    await accessible(page);
    await panel.getByRole('button', { name: 'Edit contract' }).click();
    const editor = panel.getByRole('textbox', { name: 'Definition as YAML' });
    await write(editor, 'tool: read_file\nwhen: 5\nthen: { effect: deny, message: m }\n');
    await panel
      .getByText(/^Error in line/)
      .first()
      .waitFor();
    expect(await panel.getByRole('button', { name: 'Save as new version' }).isDisabled()).toBe(true);
    await write(
      editor,
      'tool: read_file\nwhen:\n  args.path: { contains: ".pem" }\nthen:\n  effect: deny\n  message: "Keys stay"\n',
    );
    await panel.getByRole('button', { name: 'Save as new version' }).click();
    await panel.getByText('Keys stay').first().waitFor();
    await panel
      .getByText('1 line added')
      .or(panel.getByText(/lines added/))
      .first()
      .waitFor();
    await accessible(page);
    expect((await hub.call('GET', '/api/v1/contracts/no-secrets', { cookie })).body.version).toBe(2);
    noFaults(visit);
    await visit.context.close();
  });

  it('orders a composition by keys, deploys it with its difference, and rolls back', async () => {
    const visit = await view(hub.url, { cookie });
    const { page } = visit;
    await page.goto('/dashboard/compositions/shop');
    const panel = page.getByRole('region', { name: 'Composition shop' });
    await panel.getByRole('button', { name: 'Deploy shop' }).waitFor();
    await accessible(page);
    await panel.getByRole('button', { name: 'Deploy shop' }).click();
    const plan = page.getByRole('region', { name: /^(Change|Deployment of) shop/ });
    await plan.getByText('no bundle is deployed to production').waitFor();
    await accessible(page);
    await plan.getByRole('button', { name: 'Deploy to production' }).click();
    await plan.getByText('shop v1 is deployed to production.').waitFor();
    expect(await deployed('production')).toBe(1);
    await go(page, '/compositions/shop');
    await panel.getByRole('button', { name: 'Move watch-refunds up' }).click();
    await panel.getByRole('checkbox', { name: 'Enable no-secrets' }).uncheck();
    await panel.getByRole('button', { name: 'Save composition' }).click();
    await panel.getByRole('button', { name: 'Deploy shop' }).click();
    await plan.getByText('removed', { exact: true }).waitFor();
    await plan.getByRole('button', { name: 'Deploy to production' }).click();
    await plan.getByText('shop v2 is deployed to production.').waitFor();
    await go(page, '/bundles/shop');
    await page.getByRole('button', { name: 'Roll back to v1' }).click();
    await page
      .getByRole('region', { name: /^(Change|Deployment of) shop/ })
      .getByRole('button', { name: 'Roll back production to v1' })
      .click();
    await page.getByText('shop v1 is deployed to production.').waitFor();
    await accessible(page);
    expect(await deployed('production')).toBe(1);
    noFaults(visit);
    await visit.context.close();
  });

  it('makes a composition that becomes a ruleset, and says so', async () => {
    const visit = await view(hub.url, { cookie });
    const { page } = visit;
    await page.goto('/dashboard/policies?view=compositions');
    await page.getByRole('button', { name: 'New composition' }).first().click();
    const form = page.getByRole('dialog', { name: 'New composition' });
    await form.getByRole('textbox', { name: 'Name' }).fill('for-v1');
    await form.getByLabel('Document').selectOption('ruleset');
    await form.getByRole('button', { name: 'Create composition' }).click();
    await page.getByText('Deploys as a ruleset.').waitFor();
    expect((await hub.call('GET', '/api/v1/compositions/for-v1', { cookie })).body.document_kind).toBe(
      'ruleset',
    );
    noFaults(visit);
    await visit.context.close();
  });

  itAtNight('says how many agents run it while they come, and goes back at one press', async () => {
    const before = await deployed('production');
    const agents = new AgentStreams(hub, key);
    await agents.open('rollout-1', '&bundle_name=shop');
    const visit = await view(hub.url, { cookie });
    const { page } = visit;
    await page.goto('/dashboard/compositions/shop');
    await page.getByRole('button', { name: 'Deploy shop' }).click();
    const plan = page.getByRole('region', { name: /^(Change|Deployment of) shop/ });
    await plan.getByText(/1 connected agent gets it immediately/).waitFor();
    await plan.getByRole('button', { name: 'Deploy to production' }).click();
    await plan.getByText(/of 1 connected agent/).waitFor();
    const newHash = await deployed('production');
    expect(newHash).not.toBe(before);
    const { body: now } = await hub.call('GET', '/api/v1/bundles/shop/current?env=production', { cookie });
    await agents.open('rollout-2', `&bundle_name=shop&policy_version=${now.revision_hash}`);
    await plan.getByText(/of 2 connected agents/).waitFor();
    await accessible(page);
    const back = plan.getByRole('button', { name: `Roll back production to v${before}` });
    await back.click();
    // The first press leads to the plan, the second one deploys.
    await page.waitForURL(/changes\/new/);
    await back.click();
    await plan.getByText(`shop v${before} is deployed to production.`).waitFor();
    expect(await deployed('production')).toBe(before);
    expect(agents.close()).toBe(2);
    noFaults(visit);
    await visit.context.close();
  });

  it('refuses what no agent can load, says why, and lets an admin force it by its word', async () => {
    const broken = library.replace('name: shop', 'name: broken').replace('args.path:', 'argz.path:');
    const { status } = await hub.call('POST', '/api/v1/bundles', { cookie, body: { yaml_content: broken } });
    expect(status).toBe(201);
    const visit = await view(hub.url, { cookie });
    const { page } = visit;
    await page.goto('/dashboard/bundles/broken');
    await page.getByRole('button', { name: 'Deploy v1' }).click();
    const plan = page.getByRole('region', { name: /^(Change|Deployment of) broken/ });
    await plan.getByRole('button', { name: 'Deploy v1 to production' }).click();
    await plan.getByText(/Nothing was deployed/).waitFor();
    await accessible(page);
    const force = plan.getByRole('button', { name: 'Force deploy to production' });
    expect(await force.isDisabled()).toBe(true);
    await plan.getByLabel('Type production to confirm').fill('production');
    expect(await force.isDisabled()).toBe(true);
    await plan.getByLabel('Reason').fill('the old client knows the word');
    await force.click();
    await plan.getByText('despite errors (forced)').waitFor();
    await plan.getByText('Reason: the old client knows the word').waitFor();
    await page.getByRole('button', { name: 'Undeploy' }).click();
    await page.getByRole('button', { name: 'Undeploy from production' }).click();
    await page.getByText('broken undeployed from production.').waitFor();
    noFaults(visit);
    await visit.context.close();
  });

  itAtNight('lists the fleet, assigns many, and says which bundle an agent would get', async () => {
    const events = [1, 2, 3].map((n) => ({
      call_id: `c${n}`,
      agent_id: `fleet-${n}`,
      tool_name: 't',
      verdict: 'call_allowed',
    }));
    await hub.call('POST', '/api/v1/events', { key, agent: 'fleet-1', body: { events } });
    const visit = await view(hub.url, { cookie });
    const { page } = visit;
    await page.goto('/dashboard/fleet?view=agents');
    await page.getByRole('grid', { name: 'Agents' }).getByText('fleet-3').waitFor();
    await accessible(page);
    await page.getByRole('checkbox', { name: 'Select fleet-1' }).check();
    await page.getByRole('checkbox', { name: 'Select fleet-2' }).check();
    await page.getByLabel('Bundle for the selected agents').selectOption('shop');
    await page.getByRole('button', { name: 'Assign 2' }).click();
    await page.getByText('2 agents assigned to shop.').waitFor();
    await page.getByRole('link', { name: 'fleet-1' }).press('Enter');
    const panel = page.getByRole('region', { name: /^Agent / });
    await panel.getByText('(assigned to this agent directly)').waitFor();
    await panel.getByRole('tab', { name: 'Tools' }).click();
    await page.waitForURL((url) => url.pathname.endsWith('/agents/fleet-1/tools'));
    await panel
      .getByRole('region', { name: 'Coverage' })
      .getByRole('table')
      .getByText('ungoverned')
      .waitFor();
    await panel.getByRole('tab', { name: 'Changes' }).click();
    await panel.getByRole('region', { name: 'History' }).getByText('First seen').waitFor();
    await panel.getByRole('tab', { name: 'Runs' }).click();
    await panel
      .getByRole('region', { name: 'Runs' })
      .getByText('No sessions in this range. Calls with a session ID appear here.')
      .waitFor();
    await accessible(page);
    await go(page, '/fleet?view=assignment');
    await page.getByRole('button', { name: 'New rule' }).click();
    const dialog = page.getByRole('dialog', { name: 'New rule' });
    await dialog.getByLabel('Agents').fill('fleet-*');
    await accessible(page);
    await dialog.getByRole('button', { name: 'Add rule' }).click();
    await dialog.waitFor({ state: 'hidden' });
    await page.getByLabel('Agent ID').fill('fleet-9');
    await page.getByRole('button', { name: 'Check assignment' }).click();
    await page.getByText('assigned by the rule').waitFor();
    await accessible(page);
    noFaults(visit);
    await visit.context.close();
  });
});
