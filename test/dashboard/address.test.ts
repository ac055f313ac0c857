// Addresses: where those of earlier consoles lead, how ids become parts of paths, and what a typed range means.
import { describe, expect, it } from 'vitest';
import { idOf, partOf, translateOld } from '../../src/dashboard/lib/address.ts';
import { rangeBefore, readRange, shifted, spanOf, zoomedOut } from '../../src/dashboard/lib/range.ts';

const led = (address: string): string | null => {
  const url = new URL(address, 'http://hub.invalid');
  const today = translateOld(url.pathname, Object.fromEntries(url.searchParams));
  if (today === null) return null;
  const search = new URLSearchParams(today.search).toString();
  return `${today.path}${search === '' ? '' : `?${search}`}`;
};

describe('addresses of the earlier console', () => {
  it.each([
    ['/approvals', '/inbox'],
    ['/approvals?id=a-1', '/approvals/a-1'],
    ['/approvals?view=history&env=staging', '/inbox?env=staging&view=decided'],
    ['/approvals/a-1', null],
    ['/events?tool_name=a&verdict=call_denied', '/explore?tool_name=a&verdict=call_denied'],
    ['/events?id=e-1&range=7d', '/events/e-1?from=now-7d'],
    ['/events?since=2026-03-05T00:00:00Z&until=2026-03-06T00:00:00Z', /^\/explore\?from=.*&to=.*/],
    ['/agents?id=a%2Fb', '/agents/a%2Fb'],
    ['/agents?id=..', '/agents/~..'],
    ['/agents?status=drift', '/fleet?status=drift&view=agents'],
    ['/agents?view=rules', '/fleet?view=assignment'],
    ['/contracts?id=c', '/contracts/c'],
    ['/compositions', '/policies?view=compositions'],
    ['/bundles?id=b', '/bundles/b'],
    ['/rulesets?id=r&version=2', '/rulesets/r?version=2'],
    ['/runs?agent=a&session=run+2', '/runs/a/run%202'],
    ['/runs?status=stale', null],
    ['/playground?event=e', '/test?event=e'],
    ['/keys', '/admin/keys'],
    ['/channels?id=c', '/admin/channels/c'],
    ['/settings', '/me'],
    ['/system/', '/admin/system'],
    ['/audit', null],
    ['/', null],
  ])('%s leads to %s', (address, today) => {
    if (today instanceof RegExp) expect(led(address)).toMatch(today);
    else expect(led(address)).toBe(today);
  });

  it('ids that a browser would resolve come back as they were', () => {
    for (const id of ['.', '..', '~.', '~~..', 'a/b', '...', '~', '']) expect(idOf(partOf(id))).toBe(id);
    expect([partOf('.'), partOf('..')].every((part) => part !== '.' && part !== '..')).toBe(true);
  });
});

describe('a range of time', () => {
  const now = Date.parse('2026-11-25T12:30:20Z');
  it('is a day by default, a length before now, or two instants', () => {
    expect(spanOf({}, now)).toMatchObject({ range: '24h', open: true });
    expect(spanOf({ from: 'now-7d' }, now)).toMatchObject({ range: '7d', open: true });
    expect(spanOf({ from: 'now-nonsense' }, now)).toMatchObject({ range: '24h' });
    const fixed = { from: '2026-11-20T00:00:00Z', to: '2026-11-21T00:00:00Z' };
    expect(spanOf(fixed, now)).toMatchObject({ range: null, open: false });
    expect(spanOf({ from: fixed.to, to: fixed.from }, now)).toMatchObject({ range: '24h' });
  });
  it('is typed as a length or as a day with times', () => {
    expect(readRange('2d', now, true)).toEqual({ from: 'now-2d', to: undefined });
    expect(readRange('24h', now, true)).toEqual(rangeBefore('24h'));
    expect(readRange('Yesterday 14:00-15:00', now, true)).toEqual({
      from: '2026-11-24T14:00:00.000Z',
      to: '2026-11-24T15:00:00.000Z',
    });
    for (const wrong of ['', '0d', 'yesterday 15:00-14:00', 'yesterday 14:00', 'x', '2026-99-01 0'])
      expect(readRange(wrong, now, true)).toBe(null);
  });
  it('moves by its length, never beyond now, and doubles', () => {
    const span = spanOf({ from: '2026-11-25T10:00:00Z', to: '2026-11-25T11:00:00Z' }, now);
    expect(shifted(span, -1, now)).toMatchObject({ from: '2026-11-25T09:00:00.000Z' });
    expect(shifted(span, 1, now)).toMatchObject({ to: '2026-11-25T12:00:00.000Z' });
    expect(shifted(spanOf({}, now), 1, now).to).toBe(new Date(now).toISOString());
    expect(zoomedOut(span, now)).toEqual({
      from: '2026-11-25T09:30:00.000Z',
      to: '2026-11-25T11:30:00.000Z',
    });
  });
});
