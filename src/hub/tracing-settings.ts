// The settings of traces, and of metrics by OTLP, by OpenTelemetry's own names.
import type { MetricsExportSettings } from '../../adapters/otel/metrics.ts';
import type { SamplerName, TracingSettings } from '../../adapters/otel/tracer.ts';
import { readSwitch } from './environment.ts';

/** As `samplerNames` of adapters/otel, which is loaded only where traces are on. */
const samplers: readonly SamplerName[] = [
  'always_on',
  'always_off',
  'traceidratio',
  'parentbased_always_on',
  'parentbased_always_off',
  'parentbased_traceidratio',
];

/** `name=value` pairs with commas between; null for anything else. Values are percent-encoded. */
function pairsIn(text: string): { readonly [name: string]: string } | null {
  const pairs: { [name: string]: string } = {};
  for (const part of text.split(',').filter((one) => one.trim() !== '')) {
    const at = part.indexOf('=');
    if (at < 1) return null;
    try {
      pairs[part.slice(0, at).trim()] = decodeURIComponent(part.slice(at + 1).trim());
    } catch {
      return null;
    }
  }
  return pairs;
}

type Get = (name: string) => string;
type Fail = (name: string, requirement: string) => void;

/** Settings that every signal shares. @param signal its path at the receiver, and in the name of its own endpoint */
function readReceiver(get: Get, fail: Fail, signal: 'traces' | 'metrics') {
  const pairs = (name: string) => {
    const values = pairsIn(get(name));
    if (values === null) fail(name, 'must be name=value pairs, comma separated');
    return values ?? {};
  };
  const endpoints = ['OTEL_EXPORTER_OTLP_ENDPOINT', `OTEL_EXPORTER_OTLP_${signal.toUpperCase()}_ENDPOINT`];
  const [base = '', own = ''] = endpoints.map((name) => {
    const url = get(name);
    if (url !== '' && !(/^https?:\/\/[^\s/]/.test(url) && URL.canParse(url)))
      fail(name, 'must be an http or https URL of an OTLP receiver');
    return url;
  });
  return {
    url: own !== '' ? own : base === '' ? '' : `${base.replace(/(?<!\/)\/+$/, '')}/v1/${signal}`,
    headers: pairs('OTEL_EXPORTER_OTLP_HEADERS'),
    resource: pairs('OTEL_RESOURCE_ATTRIBUTES'),
    serviceName: get('OTEL_SERVICE_NAME'),
  };
}

/**
 * Null: no collector is named, or OTEL_SDK_DISABLED is on.
 * @param fail notes that a setting is wrong, and what fits
 */
export function readTracingSettings(get: Get, fail: Fail): TracingSettings | null {
  const isOff = readSwitch(get('OTEL_SDK_DISABLED'));
  if (isOff === null) fail('OTEL_SDK_DISABLED', 'must be true or false');
  const samplerName = get('OTEL_TRACES_SAMPLER');
  const sampler = samplers.find((name) => name === samplerName);
  if (!sampler) fail('OTEL_TRACES_SAMPLER', `must be one of ${samplers.join(', ')}`);
  const ratio = Number(get('OTEL_TRACES_SAMPLER_ARG'));
  if (!(ratio >= 0 && ratio <= 1)) fail('OTEL_TRACES_SAMPLER_ARG', 'must be a number from 0 to 1');
  const receiver = readReceiver(get, fail, 'traces');
  if (receiver.url === '' || isOff === true || !sampler) return null;
  return { ...receiver, sampler, ratio };
}

const shortestIntervalMs = 1_000;
const longestIntervalMs = 3_600_000;

/** Null: metrics are not sent by OTLP. @param fail as of `readTracingSettings` */
export function readMetricsExport(get: Get, fail: Fail): MetricsExportSettings | null {
  const exporter = get('OTEL_METRICS_EXPORTER');
  if (!['none', 'otlp'].includes(exporter)) fail('OTEL_METRICS_EXPORTER', 'must be none or otlp');
  const everyMs = Number(get('OTEL_METRIC_EXPORT_INTERVAL'));
  if (!(everyMs >= shortestIntervalMs && everyMs <= longestIntervalMs))
    fail('OTEL_METRIC_EXPORT_INTERVAL', 'must be 1,000 to 3,600,000 milliseconds');
  if (exporter !== 'otlp' || readSwitch(get('OTEL_SDK_DISABLED')) === true) return null;
  const receiver = readReceiver(get, fail, 'metrics');
  if (receiver.url === '')
    fail('OTEL_METRICS_EXPORTER', 'needs OTEL_EXPORTER_OTLP_ENDPOINT or OTEL_EXPORTER_OTLP_METRICS_ENDPOINT');
  return { ...receiver, everyMs };
}
