// The least isolation of programs among a tenant's tool settings: who writes it, and how agents learn it.
import { afterEach, beforeEach, expect, it } from 'vitest';
import { principalOf } from '../../src/http/contract/principal.ts';
import { memberRoles } from '../../src/shared/env-roles.ts';
import { environments } from '../../src/shared/ids.ts';
import type { Announcer } from '../../src/shared/ports/announcer.ts';
import { deploy } from '../deployment/deploy.ts';
import { makeHub, type TestHub, type UserCaller } from '../harness.ts';

let t: TestHub;
let user: UserCaller;
beforeEach(async () => {
  t = await makeHub();
  user = await t.tenant();
});
afterEach(() => t.close());

const put = (isolation: string | null, caller = user) =>
  t.call('putToolSettings', { body: { isolation } }, caller);
const frames = () =>
  t.newFrames().map(({ audience, part, data }) => [audience, part, data.type, data.isolation]);
const toAgents = (isolation: string) =>
  environments.map((env) => [`agents:${user.tenantId}/${env}`, 'isolation', 'isolation_changed', isolation]);

it('is kept beside the other settings, and null clears it', async () => {
  await t.call('putToolSettings', { body: { custom_selectors: ['geo'] } }, user);
  expect((await put('required')).body).toMatchObject({ isolation: 'required', custom_selectors: ['geo'] });
  const others = { custom_selectors: ['place'] };
  expect((await t.call('putToolSettings', { body: others }, user)).body).toMatchObject({
    ...others,
    isolation: 'required',
  });
  expect((await t.call('toolSettings', {}, await t.tenant())).body.isolation).toBe('none');
  expect((await put(null)).body).toMatchObject({ ...others, isolation: 'none' });
  await expect(put('container')).rejects.toMatchObject({ code: 'validation_failed' });
  await expect(put('none', { ...user, roles: memberRoles })).rejects.toMatchObject({ code: 'forbidden' });
});

it('goes to the agents of each environment with every write of it, and with no other', async () => {
  t.newFrames();
  await put('required');
  expect(frames()).toEqual(toAgents('required'));
  await t.call('putToolSettings', { body: { custom_selectors: ['geo'] } }, user);
  expect(frames()).toEqual([]);
  // A repeat, for a client that received no answer.
  await put('required');
  expect(frames()).toEqual(toAgents('required'));
  await put(null);
  expect(frames()).toEqual(toAgents('none'));
});

it('is in a header of the current bundle unless it is none, seen at once on the node that wrote it', async () => {
  await deploy(t, user, 'team', '1');
  const headers = async () =>
    (await t.call('currentBundle', { params: { name: 'team' }, query: {} }, t.key(user))).headers;
  expect(await headers()).toEqual({});
  await put('preferred');
  expect(await headers()).toEqual({ 'X-Reeve-Isolation': 'preferred' });
  await put('none');
  expect(await headers()).toEqual({});
});

it('survives a write of other settings at the same time, and the last announced mode is the stored one', async () => {
  t.newFrames();
  const names = ['a', 'b', 'c', 'd'];
  await Promise.all([
    put('required'),
    ...names.map((name) => t.call('putToolSettings', { body: { custom_selectors: [name] } }, user)),
    t.call('putToolSettings', { body: { custom_operators: ['in_network'] } }, user),
    put('preferred'),
  ]);
  const { isolation, custom_operators } = (await t.call('toolSettings', {}, user)).body;
  expect(custom_operators).toEqual(['in_network']);
  expect(['required', 'preferred']).toContain(isolation);
  expect(frames().slice(-3)).toEqual(toAgents(isolation));
});

it('is read again after its announcement, so that of two writers neither has the wrong last word', async () => {
  const announced: unknown[] = [];
  const announcer: Announcer = {
    announce: async ([one]) => {
      announced.push(one?.kind === 'isolationChanged' && one.isolation);
      // Another writer is between its write and its announcement.
      if (announced.length === 1) await put('none');
    },
  };
  const principal = principalOf(user);
  await t.changed({ announcer }).app.toolSettings.update(principal, { isolation: 'required' });
  expect(announced).toEqual(['required', 'none']);
});
