// The device cookie. A browser sends the cookie to an account that it signed in to before. So strangers who guess at
// the account's password do not lock its owner out. The cookie gives no access to anything.
import { cookieOf } from '../../http/contract/cookie.ts';
import type { Hub } from '../../http/contract/handler.ts';
import { dayMs } from '../../shared/duration.ts';
import type { Device } from '../use-cases/login-attempts.ts';

/** Time for which a device is remembered after a sign-in, in milliseconds. */
const deviceMs = 90 * dayMs;

const nameOf = ({ settings }: Hub): string => `${settings.wire.sessionCookie}_device`;

/** A Set-Cookie text. The same browser keeps the id of its device. It is sent to the sign-in route alone. */
export function deviceCookie(hub: Hub, userId: string, before: Device | null): string {
  const id = before?.userId === userId ? before.id : hub.secrets.token(12);
  const text = JSON.stringify([id, userId, hub.clock.now()]);
  const sealed = Buffer.from(hub.secrets.seal('device', Buffer.from(text)), 'base64').toString('base64url');
  const { pathname, protocol } = new URL(hub.settings.baseUrl);
  const path = `${pathname.replace(/(?<!\/)\/+$/, '')}/api/v1/auth/login`;
  const secure = protocol === 'https:' ? '; Secure' : '';
  return `${nameOf(hub)}=${sealed}; Path=${path}; HttpOnly; SameSite=Lax; Max-Age=${deviceMs / 1000}${secure}`;
}

/**
 * The device that the request's cookie names; null when there is none, it was not made by this hub, or it is too old.
 */
export function deviceIn(hub: Hub, header: string | null): Device | null {
  const sealed = cookieOf(header, nameOf(hub));
  if (sealed === null) return null;
  try {
    const text = Buffer.from(hub.secrets.unseal('device', sealed)).toString();
    const [id, userId, at] = JSON.parse(text) as [string, string, number];
    return hub.clock.now() - at < deviceMs ? { id, userId } : null;
  } catch {
    return null;
  }
}
