// Reads where a call goes, before any name is resolved: the URL's form, its port, and whether the settings name it.
import { isIP } from 'node:net';
import { OutboundError } from '../../../src/shared/outbound.ts';

export interface OutboundRules {
  /** Lets loopback and private addresses through, and http on loopback. */
  readonly allowPrivate: boolean;
  /** `host:port` texts in lower case, an IPv6 address in brackets: they are called whatever their address is. */
  readonly allow: readonly string[];
}

export interface OutboundTarget {
  readonly host: string;
  readonly port: number;
  /** Named by OUTBOUND_ALLOW. */
  readonly isNamed: boolean;
}

export interface UrlTarget extends OutboundTarget {
  readonly url: URL;
}

const maxUrl = 2048;

const refused = (message: string): OutboundError => new OutboundError('refused', message);

/** @throws OutboundError('refused'); ports of other services than HTTP are for targets that the settings name */
export function requirePort({ isNamed, port }: OutboundTarget): void {
  if (!isNamed && port !== 443 && port < 1024) throw refused('The port must be 443, or 1024 or above.');
}

/** @param host a name or an address, without brackets */
export function targetOf(host: string, port: number, rules: OutboundRules): OutboundTarget {
  const bare = host.toLowerCase();
  const written = `${isIP(bare) === 6 ? `[${bare}]` : bare}:${port}`;
  return { host: bare, port, isNamed: rules.allow.includes(written) };
}

/**
 * Reads a URL as browsers do, so that every encoding of an address becomes the address.
 * @throws OutboundError('refused')
 */
export function urlTarget(text: string, rules: OutboundRules): UrlTarget {
  if (text.length > maxUrl || !URL.canParse(text)) throw refused('The URL is not valid.');
  const url = new URL(text);
  if (url.protocol !== 'https:' && url.protocol !== 'http:')
    throw refused('The URL must begin with https://.');
  if (url.username !== '' || url.password !== '')
    throw refused('The URL must not contain a user or a password.');
  const host = url.hostname.replace(/^\[|\]$/g, '');
  const port = url.port === '' ? (url.protocol === 'https:' ? 443 : 80) : Number(url.port);
  if (port === 0) throw refused('The URL is not valid.');
  const target = targetOf(host, port, rules);
  if (!target.isNamed && !rules.allowPrivate && url.protocol !== 'https:') {
    throw refused('The URL must begin with https://.');
  }
  if (!rules.allowPrivate) requirePort(target);
  return { ...target, url };
}
