// Finds the addresses of a host, once, and refuses the host when one of them may not be called.
import { Resolver, lookup as systemLookup } from 'node:dns/promises';
import { isIP } from 'node:net';
import { OutboundError } from '../../../src/shared/outbound.ts';
import type { OutboundAddress } from '../../../src/shared/ports/outbound.ts';
import type { AddressKind } from './addresses.ts';
import type { OutboundRules, OutboundTarget } from './target.ts';

/** Finds the addresses of a name. Any failure counts as "has none". */
export type Lookup = (host: string) => Promise<readonly string[]>;

const queryMs = 3000;
const tries = 2;
const maxAddresses = 16;

/**
 * Asks the name servers directly. The system's resolver waits in threads that files and passwords need too, so a name
 * server that is slow on purpose could stop them.
 */
export const askNameServers: Lookup = async (host) => {
  const resolver = new Resolver({ timeout: queryMs, tries });
  const families = await Promise.allSettled([resolver.resolve4(host), resolver.resolve6(host)]);
  return families.flatMap((one) => (one.status === 'fulfilled' ? one.value : []));
};

/** As the system does, with its hosts file: for the names that the settings list. */
export const askSystem: Lookup = async (host) =>
  (await systemLookup(host, { all: true })).map(({ address }) => address);

export interface Lookups {
  readonly byName: Lookup;
  readonly bySystem: Lookup;
}

/** None when the host has no address, or finding one failed. */
function lookUp(
  { host, isNamed }: OutboundTarget,
  { byName, bySystem }: Lookups,
): Promise<readonly string[]> {
  if (isIP(host) !== 0) return Promise.resolve([host]);
  if (isNamed) return bySystem(host).catch(() => []);
  // RFC 6761: this name is loopback, whatever a name server returns.
  if (/^(.+\.)?localhost\.?$/.test(host)) return Promise.resolve(['127.0.0.1', '::1']);
  return byName(host).catch(() => []);
}

/** @throws OutboundError: `unresolved`, or `refused` when any address may not be called */
export async function addressesOf(
  target: OutboundTarget,
  rules: OutboundRules,
  kindOf: (address: string) => AddressKind,
  lookups: Lookups,
): Promise<readonly OutboundAddress[]> {
  const answers = await lookUp(target, lookups);
  if (answers.length === 0) throw new OutboundError('unresolved');
  const allowed = (address: string): boolean => {
    const kind = kindOf(address);
    return target.isNamed || kind === 'public' || (rules.allowPrivate && kind !== 'special');
  };
  if (!answers.every(allowed)) throw new OutboundError('refused', 'The host is not public.');
  return answers.slice(0, maxAddresses).map((address) => ({ address, family: isIP(address) === 6 ? 6 : 4 }));
}
