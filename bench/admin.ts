// A signed-in admin of a hub under measurement: sets it up, makes keys and tenants through the public API.
import type { Env } from '../src/shared/ids.ts';

export interface Admin {
  /** The session cookie of the last login. */
  cookie(): string;
  /** @throws Error with the answer when it is not 2xx */
  call<T>(method: string, path: string, body?: unknown): Promise<T>;
  login(email: string): Promise<void>;
  /** A key of the signed-in user's tenant; for `production` by default. */
  newKey(env?: Env): Promise<string>;
  /** A token of the signed-in user for the API under `/v1`. */
  newToken(): Promise<string>;
  /** Makes a tenant, signs in as its admin and makes a key there. Needs the hub's operator token. */
  newTenant(name: string): Promise<string>;
}

export const benchOperatorToken = 'benchmark-benchmark-benchmark-01';
const benchPassword = 'benchmark benchmark';

export interface AdminOptions {
  /** Of the keys that the admin makes. Default: `bench` */
  readonly label?: string;
  /** Default: that of the users which the suite makes */
  readonly password?: string;
}

export function adminOf(
  url: string,
  { label = 'bench', password = benchPassword }: AdminOptions = {},
): Admin {
  let cookie = '';
  async function call<T>(method: string, path: string, body?: unknown, authorization?: string): Promise<T> {
    const response = await fetch(url + path, {
      method,
      headers: {
        'Content-Type': 'application/json',
        'X-Requested-With': 'bench',
        ...(authorization ? { Authorization: authorization } : { Cookie: cookie }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${text}`);
    cookie = response.headers.get('set-cookie')?.split(';', 1)[0] ?? cookie;
    return JSON.parse(text || 'null') as T;
  }
  const login = async (email: string): Promise<void> => {
    await call('POST', '/api/v1/auth/login', { email, password });
  };
  const newKey = async (env: Env = 'production'): Promise<string> =>
    (await call<{ readonly key: string }>('POST', '/api/v1/keys', { env, label })).key;
  return {
    cookie: () => cookie,
    call,
    login,
    newKey,
    async newToken() {
      const body = { role: 'admin', ttl_seconds: 86_400 };
      return (await call<{ readonly token: string }>('POST', '/api/v1/operator-tokens', body)).token;
    },
    async newTenant(name) {
      const email = `${name}@example.com`;
      await call(
        'POST',
        '/api/v1/operator/tenants',
        { name, email, password },
        `Bearer ${benchOperatorToken}`,
      );
      await login(email);
      return newKey();
    },
  };
}

/** Of the admin that `setUp` makes. */
export const benchEmail = 'bench@example.com';

/** The first admin of a new hub, signed in. */
export async function setUp(url: string): Promise<Admin> {
  const admin = adminOf(url);
  const email = benchEmail;
  await admin.call('POST', '/api/v1/setup', { email, password: benchPassword });
  await admin.login(email);
  return admin;
}
