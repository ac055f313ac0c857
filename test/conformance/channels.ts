// Every store's promises about notification channels and of what is on its way to them (notification/port/channels).
import { describe, expect, it } from 'vitest';
import type { Channel, Delivery } from '../../src/notification/record.ts';
import { again, ended } from '../../src/notification/rules/delivery.ts';
import { firstPage, hostileTexts, itemsOf, type Open, parallel, sharedStore, t0, uuid } from './fixtures.ts';

export const aChannel = (over: Partial<Channel> = {}): Channel => ({
  id: uuid(),
  tenantId: uuid(),
  name: 'ops',
  kind: 'webhook',
  payloadStyle: 'console',
  enabled: true,
  filters: {
    environments: ['production'],
    agentPatterns: ['web-*'],
    contractNames: null,
    rulesetNames: ['base'],
  },
  sealedConfig: 'c2VhbGVk',
  revision: 1,
  createdAt: t0,
  updatedAt: t0,
  lastTestAt: null,
  lastTestOk: null,
  ...over,
});

export const aDelivery = (over: Partial<Delivery> = {}): Delivery => ({
  id: uuid(),
  tenantId: uuid(),
  channelId: uuid(),
  approvalId: uuid(),
  event: 'requested',
  status: 'waiting',
  attempts: 0,
  run: 1,
  nextAt: t0,
  giveUpAt: t0 + 1000,
  createdAt: t0,
  updatedAt: t0,
  messageId: null,
  log: [],
  ...over,
});

export function channelsContract(name: string, open: Open): void {
  describe(`${name}: channels`, () => {
    const shared = sharedStore(open);

    it('are kept as they are, each tenant its own', async () => {
      const { channels } = shared.get();
      const tenantId = uuid();
      const made = hostileTexts.map((text, i) =>
        aChannel({
          tenantId,
          name: `x${text}`,
          createdAt: t0 + i,
          enabled: i % 2 === 0,
          filters:
            i === 0
              ? null
              : { environments: [], agentPatterns: [text], contractNames: [text], rulesetNames: null },
          lastTestAt: i === 1 ? t0 : null,
          lastTestOk: i === 1 ? false : null,
        }),
      );
      for (const channel of made) expect(await channels.create(channel, 100)).toBe('created');
      expect(await itemsOf(channels.list(tenantId, firstPage))).toEqual([...made].reverse());
      expect(await channels.listEnabled(tenantId)).toEqual(made.filter(({ enabled }) => enabled));
      const [first] = made as [Channel];
      expect(await channels.get(tenantId, first.id)).toEqual(first);
      expect(await channels.getById(first.id)).toEqual(first);
      expect(await channels.get(uuid(), first.id)).toBeNull();
      expect(await channels.getById(uuid())).toBeNull();
      expect(await itemsOf(channels.list(uuid(), firstPage))).toEqual([]);
    });

    it('are made once under an id', async () => {
      const { channels } = shared.get();
      const channel = aChannel();
      const outcomes = await Promise.allSettled(
        Array.from({ length: 5 }, () => channels.create(channel, 100)),
      );
      const refused = outcomes.flatMap((one) => (one.status === 'rejected' ? [one.reason.code] : []));
      expect(refused).toEqual(Array.from({ length: 4 }, () => 'conflict'));
    });

    it('stop at the bound of a tenant', async () => {
      const { channels } = shared.get();
      const tenantId = uuid();
      expect(await channels.create(aChannel({ tenantId }), 2)).toBe('created');
      expect(await channels.create(aChannel({ tenantId }), 2)).toBe('created');
      expect(await channels.create(aChannel({ tenantId }), 2)).toBe('full');
      expect(await channels.create(aChannel(), 2)).toBe('created');
      expect(await itemsOf(channels.list(tenantId, firstPage))).toHaveLength(2);
    });

    it('change by their revision: of parallel changes to one, one succeeds', async () => {
      const { channels } = shared.get();
      const channel = aChannel();
      await channels.create(channel, 10);
      const changed = {
        ...channel,
        name: 'b',
        filters: null,
        enabled: false,
        sealedConfig: 'bmV3',
        updatedAt: t0 + 1,
      };
      const outcomes = await parallel(10, (i) => channels.update({ ...changed, name: `b${i}`, revision: 2 }));
      expect(outcomes.filter((one) => typeof one === 'object')).toHaveLength(1);
      expect(outcomes.filter((one) => one === 'stale')).toHaveLength(9);
      const winner = outcomes.findIndex((one) => typeof one === 'object');
      expect(await channels.get(channel.tenantId, channel.id)).toEqual({
        ...changed,
        name: `b${winner}`,
        revision: 2,
      });
      expect(await channels.update({ ...changed, id: uuid(), revision: 3 })).toBe('absent');
      expect(await channels.update({ ...changed, tenantId: uuid(), revision: 3 })).toBe('absent');
    });

    it('are disabled once, and only as they were judged', async () => {
      const { channels } = shared.get();
      const channel = aChannel();
      const { tenantId, id } = channel;
      await channels.create(channel, 10);
      expect(await channels.anyEnabled(tenantId)).toBe(true);
      expect(await channels.disable(tenantId, id, 7, t0 + 1)).toBe(false);
      const outcomes = await parallel(5, () => channels.disable(tenantId, id, 1, t0 + 1));
      expect(outcomes.filter(Boolean)).toHaveLength(1);
      expect(await channels.get(tenantId, id)).toEqual({
        ...channel,
        enabled: false,
        revision: 2,
        updatedAt: t0 + 1,
      });
      expect(await channels.anyEnabled(tenantId)).toBe(false);
      expect(await channels.listEnabled(tenantId)).toEqual([]);
    });

    it('note their last test, whatever else changes', async () => {
      const { channels } = shared.get();
      const channel = aChannel();
      await channels.create(channel, 10);
      await channels.tested(channel.tenantId, channel.id, t0 + 5, false);
      await channels.update({ ...channel, revision: 2 });
      expect(await channels.get(channel.tenantId, channel.id)).toMatchObject({
        lastTestAt: t0 + 5,
        lastTestOk: false,
      });
    });

    it('are found by kind over all tenants, newest first, and removed once', async () => {
      const { channels } = shared.get();
      const later = 2 ** 40;
      const [a, b, c] = [0, 1, 2].map((i) =>
        aChannel({ kind: 'communityChat', createdAt: later + i, enabled: i !== 1 }),
      ) as [Channel, Channel, Channel];
      for (const channel of [a, b, c]) await channels.create(channel, 10);
      expect(await channels.listEnabledOfKind('communityChat', 10)).toEqual([c, a]);
      expect(await channels.listEnabledOfKind('communityChat', 1)).toEqual([c]);
      expect(await channels.remove(uuid(), a.id)).toBeNull();
      expect(await channels.remove(a.tenantId, a.id)).toEqual(a);
      expect(await channels.remove(a.tenantId, a.id)).toBeNull();
      expect(await channels.listEnabledOfKind('communityChat', 10)).toEqual([c]);
    });
  });

  describe(`${name}: deliveries`, () => {
    const shared = sharedStore(open);

    it('are added once, whoever adds them', async () => {
      const { deliveries } = shared.get();
      const delivery = aDelivery();
      const added = await parallel(10, (i) => deliveries.create({ ...delivery, createdAt: t0 + i }));
      const stored = await deliveries.get(delivery.tenantId, delivery.id);
      for (const one of added) expect(one).toEqual(stored);
      expect(await deliveries.get(uuid(), delivery.id)).toBeNull();
    });

    it('change as they were read: of parallel changes one succeeds', async () => {
      const { deliveries } = shared.get();
      const delivery = aDelivery();
      await deliveries.create(delivery);
      const log = [{ at: t0, status: 503, failure: 'status' as const, durationMs: 12 }];
      const outcomes = await parallel(10, (i) =>
        deliveries.update({ ...delivery, attempts: 1, nextAt: t0 + i, messageId: `m${i}`, log }, delivery),
      );
      expect(outcomes.filter(Boolean)).toHaveLength(1);
      const i = outcomes.indexOf(true);
      const second = { ...delivery, attempts: 1, nextAt: t0 + i, messageId: `m${i}`, log };
      expect(await deliveries.get(delivery.tenantId, delivery.id)).toEqual(second);
      expect(await deliveries.update(ended(second, 'dead', t0), delivery)).toBe(false);
      const dead = ended(second, 'dead', t0 + 9);
      expect(await deliveries.update(dead, second)).toBe(true);
      expect(await deliveries.update(again(dead, t0 + 10), dead)).toBe(true);
      expect(await deliveries.update(again(dead, t0 + 11), dead)).toBe(false);
      expect(await deliveries.get(delivery.tenantId, delivery.id)).toEqual(again(dead, t0 + 10));
    });

    it('are listed newest first, by status, each channel its own', async () => {
      const { deliveries } = shared.get();
      const [tenantId, channelId] = [uuid(), uuid()];
      const all = [0, 1, 2].map((i) =>
        aDelivery({ tenantId, channelId, createdAt: t0 + i, status: i === 1 ? 'dead' : 'delivered' }),
      );
      for (const one of all) await deliveries.create(one);
      await deliveries.create(aDelivery({ tenantId }));
      const list = (status?: Delivery['status']) =>
        itemsOf(deliveries.list(tenantId, channelId, status ? { status } : {}, firstPage));
      expect(await list()).toEqual([...all].reverse());
      expect(await list('dead')).toEqual([all[1]]);
      expect(await list('waiting')).toEqual([]);
      expect(await itemsOf(deliveries.list(uuid(), channelId, {}, firstPage))).toEqual([]);
      const page = await deliveries.list(tenantId, channelId, {}, { limit: 1, offset: 1 });
      expect(page).toEqual({ items: [all[1]], more: true });
    });

    it('are found by their approval', async () => {
      const { deliveries } = shared.get();
      const approvalId = uuid();
      const two = [aDelivery({ approvalId }), aDelivery({ approvalId, event: 'decided' })];
      for (const one of [...two, aDelivery()]) await deliveries.create(one);
      const found = await deliveries.listOfApproval(approvalId, 10);
      expect(found).toHaveLength(2);
      expect(found).toEqual(expect.arrayContaining(two));
      expect(await deliveries.listOfApproval(approvalId, 1)).toHaveLength(1);
    });

    it('go with their channel, a bounded number at a time', async () => {
      const { deliveries } = shared.get();
      const [tenantId, channelId] = [uuid(), uuid()];
      for (let i = 0; i < 3; i++) await deliveries.create(aDelivery({ tenantId, channelId }));
      expect(await deliveries.removeOfChannel(uuid(), channelId, 10)).toBe(0);
      expect(await deliveries.removeOfChannel(tenantId, channelId, 2)).toBe(2);
      expect(await deliveries.removeOfChannel(tenantId, channelId, 2)).toBe(1);
    });
  });
}
