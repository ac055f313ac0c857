// Deployments of compositions in the audit chain and the live stream: every version that is saved leaves an entry and a
// frame, and every deployment the deployer's own id.
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { principalOf } from '../../src/http/contract/principal.ts';
import { HubError } from '../../src/shared/error.ts';
import { addComposition, addContract } from '../contract/library.ts';
import { makeHub, type TestHub, type UserCaller } from '../harness.ts';

let t: TestHub;
let user: UserCaller;
beforeEach(async () => {
  t = await makeHub();
  user = await t.tenant('ann@example.com');
  await addContract(t, user, 'a');
});
afterEach(() => t.close());

const deploy = () =>
  t.call('deployComposition', { params: { name: 'team' }, body: { env: 'staging' } }, user);
const entries = async (query: { readonly [name: string]: string } = {}) =>
  (await t.call('hostedListAudit', { query: { scope: 'all', ...query } }, t.operator(user))).body.entries;

describe('a deployment of a composition', () => {
  it('records its version and itself under the id of the person', async () => {
    await addComposition(t, user, 'team', ['a']);
    await deploy();
    const newest = (await entries({ actor: user.userId })).slice(0, 2);
    const actor = { type: 'operator', id: user.userId, display: user.email };
    expect(newest).toMatchObject([
      { action_type: 'ruleset.deployed', actor, details: { env: 'staging', version: 1, forced: false } },
      { action_type: 'bundle.uploaded', actor, subject: { id: 'team' }, details: { version: 1 } },
    ]);
  });

  it('that fails leaves the entry of the version that stays saved, and no frame', async () => {
    await addComposition(t, user, 'team', ['a']);
    t.newFrames();
    const failing = t.changed({
      actors: {
        ...t.hub.actors,
        ask: () => Promise.reject(new HubError('unavailable', 'No owner answers.')),
      } as typeof t.hub.actors,
    });
    const choice = { force: false, reason: null };
    await expect(
      failing.app.compositions.deploy(principalOf(user), 'team', 'staging', choice),
    ).rejects.toMatchObject({ code: 'unavailable' });
    expect((await t.call('listBundleVersions', { params: { name: 'team' } }, user)).body).toHaveLength(1);
    expect((await entries())[0]).toMatchObject({ action_type: 'bundle.uploaded', subject: { id: 'team' } });
    expect(t.newFrames().map(({ type }) => type)).toEqual([]);
  });
});

it('a roll-out records the new pin, the version and the deployment as acts of the hub, by the request of the save', async () => {
  await addComposition(t, user, 'team', ['a'], { update_strategy: 'auto_deploy' });
  await deploy();
  const request = { id: 'request-of-the-save', network: '192.0.2.1' };
  await t.hub.app.contracts.update({ ...principalOf(user), request }, 'a', { name: 'A2' });
  const actor = { type: 'system', id: 'auto_deploy', display: 'system:auto_deploy' };
  const details = { request_id: request.id, network: request.network };
  expect((await entries()).slice(0, 4)).toMatchObject([
    { action_type: 'ruleset.deployed', actor, details: { ...details, version: 2 } },
    { action_type: 'bundle.uploaded', actor, details: { ...details, version: 2 } },
    {
      action_type: 'composition.updated',
      actor,
      subject: { id: 'team' },
      details: {
        ...details,
        before: { items: [{ version: 1 }] },
        after: { items: [{ version: 2 }] },
      },
    },
    { action_type: 'contract.updated', actor: { id: user.userId }, details },
  ]);
});
