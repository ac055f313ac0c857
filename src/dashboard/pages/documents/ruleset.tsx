// One ruleset: a document in the words of the API under /v1.
import { type JSX, useState } from 'react';
import { useHosted } from '../../lib/hosted-query.ts';
import { ActButton } from '../../ui/act-button.tsx';
import { countColumn } from '../../ui/columns.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { documentPage } from './detail.tsx';
import { RulesetReplay } from './replay.tsx';
import { RulesetForm } from './ruleset-form.tsx';
import { useRulesetVersions } from './versions.ts';

function EditRuleset({ name, onSaved }: Readonly<{ name: string; onSaved: () => void }>): JSX.Element {
  const [isOpen, setOpen] = useState(false);
  const done = (): void => {
    setOpen(false);
    onSaved();
  };
  return (
    <>
      <ActButton operation="hostedPutRuleset" onClick={() => setOpen(true)}>
        Edit as new version
      </ActButton>
      <Dialog title="Edit ruleset" shape="wide" open={isOpen} onClose={() => setOpen(false)}>
        <RulesetForm name={name} onDone={done} />
      </Dialog>
    </>
  );
}

export default documentPage({
  noun: 'ruleset',
  api: '/v1',
  created: 'Saved',
  compareLabels: ['Compare with', 'Version'],
  columns: [countColumn('bytes', 'Bytes', (one) => one.size_bytes ?? null)],
  useVersions: useRulesetVersions,
  useText: (name, version) => {
    const ruleset = useHosted('hostedRulesetVersion', { params: { name, version } });
    return { ...ruleset, data: ruleset.data?.yaml_content };
  },
  Replay: RulesetReplay,
  Edit: EditRuleset,
});
