// The chart in deploy/helm/reeve. Each commit: its values, settings and probes agree with the hub. Each night: Helm
// renders it, and the schemas of Kubernetes and of the Prometheus operator accept what it renders.
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { secretSettings } from '../../src/hub/environment.ts';
import { settings } from '../../src/hub/settings.ts';
import { isNightly } from '../runs.ts';
import { output } from '../services/command.ts';
import { helmProgram, validateManifests, validateMonitors } from '../services/kubernetes.ts';

const chart = new URL('../../deploy/helm/reeve/', import.meta.url).pathname;
const read = (file: string) => readFileSync(join(chart, file), 'utf8');
const templates = readdirSync(join(chart, 'templates')).map((name) => read(`templates/${name}`));
const pod = read('templates/_helpers.tpl');
const schema = JSON.parse(read('values.schema.json')) as Schema;

interface Schema {
  readonly properties?: { readonly [name: string]: Schema };
  readonly items?: { readonly enum?: readonly string[] };
}

/** Paths of a schema's properties that have none of their own. */
const pathsOf = ({ properties }: Schema, prefix = ''): readonly string[] =>
  properties
    ? Object.entries(properties).flatMap(([name, part]) => pathsOf(part, `${prefix}${prefix && '.'}${name}`))
    : [prefix];

describe('the chart', () => {
  it('uses every value that its schema has, and no other', () => {
    const used = new Set(
      templates
        .flatMap((text) => [...text.matchAll(/\.Values\.([A-Za-z.]+)/g)])
        .map(([, path = '']) => path.replace(/\.$/, '')),
    );
    const declared = pathsOf(schema).filter((path) => path !== 'global');
    expect([...used].sort()).toEqual([...declared].sort());
    const values = read('values.yaml');
    for (const path of declared) expect(values).toMatch(new RegExp(`\\b${path.split('.').at(-1)}:`));
  });

  it('reads as files what the hub can read from files, and sets only settings of the hub', () => {
    expect([...(schema.properties?.secretKeys?.items?.enum ?? [])].sort()).toEqual(
      [...secretSettings].sort(),
    );
    const names = settings.map(({ name }) => name);
    const set = [...pod.matchAll(/\{ name: ([A-Z_]+), value:/g)].map(([, name = '']) => name);
    expect(set.length).toBeGreaterThan(3);
    for (const name of set) expect(names).toContain(name);
  });

  it('asks probes of routes that exist, and gives a stopping node the time that it needs', () => {
    const surface = readFileSync(new URL('../../docs/api-surface.txt', import.meta.url), 'utf8');
    const probes = [...pod.matchAll(/httpGet: \{ path: "?(\/[^",?]+)/g)].map(([, path = '']) => path);
    expect(probes).toHaveLength(3);
    for (const path of probes) expect(surface).toContain(`\nGET ${path} |`);
    expect(pod).toContain('ready?scope=node"');
    expect(pod).toContain('add (int .Values.drainSeconds) (int .Values.preStopSeconds) 35');
    expect(pod).toContain('readOnlyRootFilesystem: true');
  });

  it('is described, each value', () => {
    const page = readFileSync(new URL('../../docs/kubernetes.md', import.meta.url), 'utf8');
    for (const name of Object.keys(schema.properties ?? {}))
      if (name !== 'global') expect(page).toContain(`\`${name}`);
  });
});

const everything = [
  'autoscaling.enabled=true',
  'topologySpread.whenUnsatisfiable=DoNotSchedule',
  'networkPolicy.enabled=true',
  'networkPolicy.ingressFrom[0].namespaceSelector.matchLabels.team=a',
  'networkPolicy.egress[0].to[0].ipBlock.cidr=10.0.0.0/8',
  'serviceMonitor.enabled=true',
  'serviceMonitor.labels.release=prometheus',
  'baseUrl=https://hub.example.com',
  'settings.LOG_LEVEL=warn',
  'podAnnotations.note=text',
  'podLabels.team=a',
  'service.annotations.note=text',
  'nodeSelector.disk=fast',
];
const variants: readonly (readonly string[])[] = [
  [],
  ['mode=embedded'],
  ['mode=embedded', 'persistence.storageClassName=fast', ...everything],
  everything,
  ['podDisruptionBudget.enabled=false', 'topologySpread.enabled=false', 'drainSeconds=0', 'replicas=1'],
];

describe.runIf(isNightly)('rendered by Helm', () => {
  const render = async (values: readonly string[]): Promise<string> =>
    output(
      await helmProgram(),
      ['template', 'reeve', chart, '--kube-version', '1.31.0', ...values.flatMap((one) => ['--set', one])],
      60_000,
    );

  it.each(variants.map((values) => [values.join(' ') || 'defaults', values] as const))(
    'is accepted by the schemas: %s',
    async (_name, values) => {
      const folder = mkdtempSync(join(tmpdir(), 'reeve-chart-'));
      try {
        const file = join(folder, 'manifests.yaml');
        writeFileSync(file, await render(['existingSecret=reeve', ...values]));
        const answer = await validateManifests(file, '1.31');
        expect(answer).toContain(
          `passed for resource ${values.includes('mode=embedded') ? 'statefulset' : 'deployment'}/reeve`,
        );
        expect(answer).not.toContain('ERROR');
        expect(await validateMonitors(file)).toBe(values.includes('serviceMonitor.enabled=true') ? 1 : 0);
      } finally {
        rmSync(folder, { recursive: true, force: true });
      }
    },
    1_800_000,
  );

  it('refuses a release without its Secret, and values that are not known', async () => {
    await expect(render([])).rejects.toThrow('existingSecret');
    await expect(render(['existingSecret=reeve', 'replicaCount=3'])).rejects.toThrow('replicaCount');
  });
});
