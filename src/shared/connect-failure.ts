// Why a server cannot be used, as a sentence for whoever operates the hub. Names no address: it may hold a password.

const certificateCodes =
  /^(CERT_|DEPTH_ZERO|SELF_SIGNED|UNABLE_TO_(GET_ISSUER|VERIFY)|ERR_TLS_CERT|HOSTNAME_MISMATCH)/;

/** The error and what caused it, outermost first; at most 5. */
function* causesOf(error: unknown): Iterable<Error & { readonly code?: unknown }> {
  let current = error;
  for (let depth = 0; depth < 5 && current instanceof Error; depth++) {
    yield current;
    if (current instanceof AggregateError) yield* current.errors.filter((one) => one instanceof Error);
    current = current.cause;
  }
}

const silent = 'the server does not answer';
const closes = 'the server closes the connection. Check that both sides use TLS on this port, or neither.';

/** The cause that one error contains; null if it contains none. */
function causeOf({ message, code }: { readonly message: string; readonly code?: unknown }): string | null {
  const text = `${String(code ?? '')} ${message}`;
  const name = /\b(ENOTFOUND|EAI_AGAIN)\b/.exec(text)?.[1];
  if (name) return `the host name cannot be resolved (${name}). Check the name and the DNS.`;
  const refusal = /\b(WRONGPASS|NOAUTH|NOPERM)\b/.exec(text)?.[1];
  if (refusal) return `the server refuses the user or the password (${refusal}). Check both in the URL.`;
  if (code === 18 || /authentication failed/i.test(text) || /requires authentication/i.test(text))
    return 'the server refuses the user or the password. Check both in the URL, and authSource.';
  if (certificateCodes.test(String(code ?? '')) || /certificate/i.test(message))
    return `the server's certificate is not valid (${String(code ?? 'certificate')}). Check its names, dates and issuer.`;
  if (/ERR_SSL|wrong version number|EPROTO|packet length too long/i.test(text))
    return 'the server does not use TLS on this port. Check the port, or connect without TLS.';
  if (/\bECONNREFUSED\b/.test(text))
    return 'nothing listens at this address (ECONNREFUSED). Check that the server runs, and the port.';
  if (/\b(EHOSTUNREACH|ENETUNREACH)\b/.test(text))
    return 'the network has no route to the server. Check the network.';
  if (/\b(ECONNRESET|EPIPE)\b|closed unexpectedly|connection .*closed/i.test(text)) return closes;
  if (/\b(ETIMEDOUT)\b|timed? ?out|timeout/i.test(text)) return silent;
  return null;
}

/**
 * The cause in a sentence, and what to do; the most telling of the error's causes.
 * @param usesTls whether the connection begins with TLS: a server without it often just stays silent
 * @example 'nothing listens at this address (ECONNREFUSED). Check that the server runs, and the port.'
 */
export function connectFailure(error: unknown, usesTls = false): string {
  const cause = [...causesOf(error)].map(causeOf).findLast((one) => one !== null);
  if (cause && !cause.startsWith(silent)) return cause;
  if (usesTls) return `${silent}. Check that it runs and uses TLS on this port.`;
  return `${silent}. Check that it runs, its URL, and the firewall.`;
}

/** The same for a connection that worked before. */
export function connectionLoss(error: unknown): string {
  const cause = connectFailure(error);
  return cause === closes ? 'the server closed the connection. Check that it runs, and read its log.' : cause;
}
