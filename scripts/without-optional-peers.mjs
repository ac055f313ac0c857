// For installations without development packages: takes the agent package's optional peers out of its manifest and the
// lock file, because npm keeps an optional peer that only tests installed. Run in a copy, before `npm ci --omit=dev`
// (Dockerfile).
import { readFileSync, writeFileSync } from 'node:fs';

function change(path, edit) {
  const content = JSON.parse(readFileSync(path, 'utf8'));
  edit(content);
  writeFileSync(path, `${JSON.stringify(content, null, 2)}\n`);
}

function withoutPeers(manifest) {
  delete manifest.peerDependencies;
  delete manifest.peerDependenciesMeta;
}

change('packages/agent/package.json', withoutPeers);
change('package-lock.json', ({ packages }) => withoutPeers(packages['packages/agent']));
