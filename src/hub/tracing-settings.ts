// The settings of traces, by OpenTelemetry's own names.
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

/**
 * Null: no collector is named, or OTEL_SDK_DISABLED is on.
 * @param fail notes that a setting is wrong, and what fits
 */
export function readTracingSettings(
  get: (name: string) => string,
  fail: (name: string, requirement: string) => void,
): TracingSettings | null {
  const isOff = readSwitch(get('OTEL_SDK_DISABLED'));
  if (isOff === null) fail('OTEL_SDK_DISABLED', 'must be true or false');
  const pairs = (name: string) => {
    const values = pairsIn(get(name));
    if (values === null) fail(name, 'must be name=value pairs, comma separated');
    return values ?? {};
  };
  const [headers, resource] = [pairs('OTEL_EXPORTER_OTLP_HEADERS'), pairs('OTEL_RESOURCE_ATTRIBUTES')];
  const samplerName = get('OTEL_TRACES_SAMPLER');
  const sampler = samplers.find((name) => name === samplerName);
  if (!sampler) fail('OTEL_TRACES_SAMPLER', `must be one of ${samplers.join(', ')}`);
  const ratio = Number(get('OTEL_TRACES_SAMPLER_ARG'));
  if (!(ratio >= 0 && ratio <= 1)) fail('OTEL_TRACES_SAMPLER_ARG', 'must be a number from 0 to 1');
  const base = get('OTEL_EXPORTER_OTLP_ENDPOINT').replace(/\/+$/, '');
  const own = get('OTEL_EXPORTER_OTLP_TRACES_ENDPOINT');
  for (const [name, url] of [
    ['OTEL_EXPORTER_OTLP_ENDPOINT', base],
    ['OTEL_EXPORTER_OTLP_TRACES_ENDPOINT', own],
  ] as const)
    if (url !== '' && !(/^https?:\/\/[^\s/]/.test(url) && URL.canParse(url)))
      fail(name, 'must be an http or https URL of an OTLP receiver');
  const url = own !== '' ? own : base === '' ? '' : `${base}/v1/traces`;
  if (url === '' || isOff === true || !sampler) return null;
  return { url, headers, resource, serviceName: get('OTEL_SERVICE_NAME'), sampler, ratio };
}
