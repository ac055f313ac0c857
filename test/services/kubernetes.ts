// Helm and the schemas of Kubernetes for the nightly test of the chart. Helm is built from Go modules into the cache,
// which takes minutes; the schema of a ServiceMonitor comes from the operator's module.
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { cacheFolder, onPath, output, pipVenv } from './command.ts';
import { exists } from './debian.ts';
import { buildMs, goProgram } from './go.ts';
import { alone } from './lock.ts';
import { say } from './service.ts';

const helmModule = 'helm.sh/helm/v3/cmd/helm@v3.19.5';
const operatorModule = 'github.com/prometheus-operator/prometheus-operator@v0.80.1';
const validatorPackage = 'kubernetes-validate==1.37.0';

/** The path of Helm 3. */
export async function helmProgram(): Promise<string> {
  const installed = await onPath('helm');
  if (installed !== null) return installed;
  const folder = join(cacheFolder, 'go');
  const path = join(folder, 'helm');
  await alone(cacheFolder, async () => {
    if (await exists(path)) return;
    const go = await goProgram();
    say(`building ${helmModule} into ${folder}`);
    const variables = [`GOBIN=${folder}`, 'CGO_ENABLED=0'];
    await output('env', [...variables, go, 'install', '-trimpath', '-ldflags=-s -w', helmModule], buildMs);
  });
  return path;
}

/** Checks manifests against the schemas of Kubernetes, unknown fields refused. @throws Error with what is wrong */
export async function validateManifests(file: string, version: string): Promise<string> {
  const bin = await pipVenv('venv-kubernetes', validatorPackage);
  const validate = [join(bin, 'kubernetes-validate'), '--strict', '-k', version, file];
  // Its findings go to its error output.
  return output('sh', ['-c', '"$0" "$@" 2>&1', ...validate], 60_000);
}

const monitorCheck = `import json, sys, yaml, jsonschema
crd = yaml.safe_load(open(sys.argv[1]))
schema = crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
def closed(node):
    if isinstance(node, dict):
        if node.get("type") == "object" and "properties" in node: node.setdefault("additionalProperties", False)
        for part in node.values(): closed(part)
    if isinstance(node, list):
        for part in node: closed(part)
closed(schema["properties"]["spec"])
monitors = [d for d in yaml.safe_load_all(open(sys.argv[2])) if d and d["kind"] == "ServiceMonitor"]
for monitor in monitors: jsonschema.validate(monitor, schema)
print(len(monitors))`;

/** Checks the ServiceMonitors of a file against the operator's schema. Returns how many there are. */
export async function validateMonitors(file: string): Promise<number> {
  const bin = await pipVenv('venv-kubernetes', validatorPackage);
  const downloaded = await output(await goProgram(), ['mod', 'download', '-json', operatorModule], buildMs);
  const { Dir: folder } = JSON.parse(downloaded) as { readonly Dir: string };
  const crd = join(folder, 'example/prometheus-operator-crd/monitoring.coreos.com_servicemonitors.yaml');
  await readFile(crd);
  return Number(await output(join(bin, 'python'), ['-c', monitorCheck, crd, file], 60_000));
}
