// JSON Web Tokens with jose. Which algorithms, times and claims are taken is decided here, once for every issuer.
import { createHash } from 'node:crypto';
import {
  createLocalJWKSet,
  decodeJwt,
  decodeProtectedHeader,
  errors,
  importJWK,
  type JSONWebKeySet,
  type JWK,
  jwtVerify,
  SignJWT,
} from 'jose';
import { HubError, refused } from '../../src/shared/error.ts';
import type { Claims, Expected, Jwk, JwkSet, Jwts } from '../../src/shared/ports/jwt.ts';

const algorithms = ['RS256', 'ES256', 'EdDSA'];
const leewaySeconds = 60;
const maxLifeSeconds = 24 * 3600;
const types: ReadonlySet<string> = new Set(['jwt', 'at+jwt', 'application/at+jwt']);

const logoutTypes: ReadonlySet<string> = new Set(['jwt', 'logout+jwt', 'application/logout+jwt']);

const wrong = (why: string): HubError =>
  new HubError(
    'unauthenticated',
    `The token is not valid: ${why}. Sign in again, or check the identity provider.`,
  );
const seconds = (ms: number): number => Math.floor(ms / 1000);
const base64url = (hex: string): string => Buffer.from(hex, 'hex').toString('base64url');
/** As documents' signatures name their keys: the first 16 hex digits of SHA-256 over the raw public key. */
const keyId = (publicKey: string): string =>
  createHash('sha256').update(Buffer.from(publicKey, 'hex')).digest('hex').slice(0, 16);

const publicJwk = (publicKey: string): Jwk => ({
  kty: 'OKP',
  crv: 'Ed25519',
  x: base64url(publicKey),
  kid: keyId(publicKey),
  use: 'sig',
  alg: 'EdDSA',
});

/** In one sentence, without what the token held. */
function refusalOf(error: unknown): HubError {
  if (error instanceof errors.JWTExpired) {
    return refused('token_expired', 'The token has expired. Sign in again for a new one.');
  }
  if (error instanceof errors.JWTClaimValidationFailed)
    return wrong(`its claim ${error.claim} does not match`);
  if (error instanceof errors.JOSEAlgNotAllowed) return wrong('its algorithm is not allowed');
  if (error instanceof errors.JWKSNoMatchingKey || error instanceof errors.JWKSMultipleMatchingKeys) {
    return wrong('no key from its issuer matches');
  }
  return wrong('it is not a JSON Web Token from this issuer');
}

/** One of ours in `aud`, or in `azp`: some identity providers put the client there and send no audience. */
function isForUs({ aud, azp }: Claims, audiences: readonly string[]): boolean {
  const claimed = [...(Array.isArray(aud) ? aud : [aud])];
  return [...claimed, ...(aud === undefined ? [azp] : [])].some(
    (name) => typeof name === 'string' && audiences.includes(name),
  );
}

async function verify(
  token: string,
  keys: JwkSet,
  { issuer, audiences, now, isLogout = false }: Expected,
): Promise<Claims> {
  let claims: Claims;
  let type: string | undefined;
  try {
    const { payload, protectedHeader } = await jwtVerify(
      token,
      createLocalJWKSet(keys as unknown as JSONWebKeySet),
      {
        algorithms,
        issuer,
        clockTolerance: leewaySeconds,
        currentDate: new Date(now),
        requiredClaims: isLogout ? ['exp', 'iat', 'jti'] : ['sub', 'exp', 'iat'],
      },
    );
    claims = payload;
    type = protectedHeader.typ;
  } catch (error) {
    throw refusalOf(error);
  }
  const { exp = 0, iat = 0, sub } = claims as { exp?: number; iat?: number; sub?: string };
  const acceptedTypes = isLogout ? logoutTypes : types;
  if (type !== undefined && !acceptedTypes.has(type.toLowerCase()))
    throw wrong('its typ is not a token type');
  if (!isForUs(claims, audiences)) throw wrong('its claim aud does not match');
  if (iat > seconds(now) + leewaySeconds) throw wrong('its claim iat does not match');
  if (exp - iat > maxLifeSeconds) throw wrong('its lifetime is longer than 24 hours');
  if (isLogout && sub === undefined) return claims;
  if (typeof sub !== 'string' || sub === '' || sub.length > 255) throw wrong('its claim sub does not match');
  return claims;
}

export function createJwts(): Jwts {
  return {
    issuerOf(token) {
      try {
        return decodeJwt(token).iss ?? null;
      } catch {
        return null;
      }
    },
    verify,
    async sign(seed, publicKey, claims, { issuedAt, expiresAt }) {
      const d = Buffer.from(seed).toString('base64url');
      const key = await importJWK({ ...(publicJwk(publicKey) as JWK), d }, 'EdDSA');
      return new SignJWT({ ...claims })
        .setProtectedHeader({ alg: 'EdDSA', typ: 'JWT', kid: keyId(publicKey) })
        .setIssuedAt(seconds(issuedAt))
        .setExpirationTime(seconds(expiresAt))
        .sign(key);
    },
    publicJwk,
    hasKeyOf(token, { keys }) {
      try {
        const { kid } = decodeProtectedHeader(token);
        return kid === undefined || keys.some((key) => key.kid === kid);
      } catch {
        return true;
      }
    },
  };
}
