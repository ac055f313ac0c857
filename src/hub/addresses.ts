// Addresses that a setting accepts: a network, an origin, a URL, a host with its port.
import { isIP } from 'node:net';

export const isHttpUrl = (text: string): boolean =>
  URL.canParse(text) && /^https?:$/.test(new URL(text).protocol);

/** An address, or a CIDR range. */
export function isNetwork(text: string): boolean {
  const [address = '', bits, ...rest] = text.split('/');
  const kind = isIP(address);
  if (kind === 0 || rest.length > 0) return false;
  return bits === undefined || (/^\d{1,3}$/.test(bits) && Number(bits) <= (kind === 4 ? 32 : 128));
}

export function isOrigin(text: string): boolean {
  try {
    return new URL(text).origin === text && /^https?:/.test(text);
  } catch {
    return false;
  }
}

/** True for the address of a host's root, without credentials, query and fragment. */
export const isRoot = ({ pathname, username, password, search, hash }: URL): boolean =>
  pathname === '/' && username + password + search + hash === '';

/** `host:port`, an IPv6 address in brackets; written as URLs write it. */
export function isTarget(text: string): boolean {
  const [, host = '', port = ''] = /^(\[[0-9a-f:.]+\]|[a-z0-9._-]{1,253}):(\d{1,5})$/.exec(text) ?? [];
  return Number(port) > 0 && Number(port) < 65_536 && URL.canParse(`https://${host}:${port}`);
}
