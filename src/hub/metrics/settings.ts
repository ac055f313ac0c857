// The settings of the Prometheus endpoint: read together, because a port and a token have limits of their own.

export interface MetricsSettings {
  /** Opens /metrics on the main port; null: closed there. */
  readonly token: string | null;
  /** Address where /metrics is served without a token; null: nowhere. */
  readonly listen: { readonly port: number; readonly host: string } | null;
  /** Tenants whose events have a series of their own. */
  readonly maxTenants: number;
}

const minTokenLength = 16;
const mostTenants = 100;

/** @param fail notes that a setting is wrong, and what fits */
export function readMetricsSettings(
  get: (name: string) => string,
  fail: (name: string, requirement: string) => void,
  mainPort: number,
): MetricsSettings {
  const token = get('METRICS_TOKEN');
  if (token !== '' && token.length < minTokenLength)
    fail('METRICS_TOKEN', `must have ${minTokenLength} characters or more`);
  const portText = get('METRICS_PORT');
  const port = Number(portText);
  if (portText !== '' && (!/^\d{1,5}$/.test(portText) || port < 1 || port > 65_535))
    fail('METRICS_PORT', 'must be a whole number from 1 to 65535, or empty');
  else if (portText !== '' && port === mainPort)
    fail('METRICS_PORT', 'must differ from PORT. Choose another port, or set METRICS_TOKEN alone');
  const tenants = get('METRICS_TENANTS');
  if (!/^\d{1,3}$/.test(tenants) || Number(tenants) > mostTenants)
    fail('METRICS_TENANTS', `must be a whole number from 0 to ${mostTenants}`);
  return {
    token: token || null,
    listen: portText === '' ? null : { port, host: get('METRICS_HOST') },
    maxTenants: Number(tenants),
  };
}
