// One bundle: a document in the words of the console API.
import type { JSX } from 'react';
import { useOneEnv } from '../../lib/me.ts';
import { useCall } from '../../lib/query.ts';
import { documentPage, type VersionReplayProps } from './detail.tsx';
import { ReplayPanel } from './replay.tsx';
import { useBundleVersions } from './versions.ts';

function BundleReplay({ yaml, base }: VersionReplayProps): JSX.Element {
  const env = useOneEnv();
  return <ReplayPanel yaml={yaml} env={env} base={base} />;
}

export default documentPage({
  noun: 'bundle',
  api: '/api/v1',
  created: 'Uploaded',
  compareLabels: ['From', 'To'],
  columns: [],
  useVersions: useBundleVersions,
  useText: (name, version) => useCall('getBundleYaml', { params: { name, version } }),
  Replay: BundleReplay,
});
