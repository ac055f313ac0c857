// The import of a bundle from a text or a file: splits it into contracts of the library.
import { type ChangeEvent, type JSX, useState } from 'react';
import type { Reply } from '../../lib/api.ts';
import { useProblems } from '../../lib/own-words.ts';
import { useAction } from '../../lib/query.ts';
import { count, counted } from '../../lib/text.ts';
import { Dialog } from '../../ui/dialog.tsx';
import { Editor } from '../../ui/editor.tsx';
import { say } from '../../ui/messages.tsx';
import { Button } from '../../ui/parts.tsx';
import { Failed } from '../../ui/query-result.tsx';
import { starterBundle } from './starters.ts';

/** The hub's limit, in characters. */
const maxLength = 1_048_576;

export function Import({ open, onClose }: Readonly<{ open: boolean; onClose: () => void }>): JSX.Element {
  const [text, setText] = useState(starterBundle);
  const [refused, setRefused] = useState<string | null>(null);
  const problems = useProblems(open ? text : null);
  const broken = problems.some(({ severity }) => severity === 'error');
  const run = useAction('importContracts', ['listContracts', 'listCompositions']);
  const done = ({
    contracts_created: created,
    contracts_updated: changed,
  }: Reply<'importContracts'>): void => {
    say(
      `Import complete: ${counted(created.length, 'contract')} added, ${counted(changed.length, 'contract')} updated.`,
      'allow',
    );
    onClose();
  };
  const take = async ({ target }: ChangeEvent<HTMLInputElement>): Promise<void> => {
    const file = target.files?.[0];
    // A person may choose the same file again.
    target.value = '';
    if (!file) return;
    if (file.size > maxLength * 4) {
      setRefused(
        `The file is too large. A bundle can have ${count(maxLength)} characters. Choose a smaller file.`,
      );
      return;
    }
    const read = await file.text();
    setRefused(
      read.length > maxLength
        ? `The file is too large. A bundle can have ${count(maxLength)} characters. Choose a smaller file.`
        : null,
    );
    if (read.length <= maxLength) setText(read);
  };
  return (
    <Dialog title="Import bundle" shape="wide" open={open} onClose={onClose}>
      <p className="page-says">
        The import adds each contract to the library. It creates a composition with the bundle name if none
        exists.
      </p>
      <div className="field">
        <label htmlFor="import-file">YAML file</label>
        <input
          id="import-file"
          type="file"
          accept=".yaml,.yml,text/yaml"
          onChange={(event) => void take(event)}
        />
      </div>
      {refused && (
        <p className="field-error" role="alert">
          {refused}
        </p>
      )}
      {open && <Editor label="Bundle as YAML" value={text} onValue={setText} problems={problems} />}
      {run.error && <Failed error={run.error} />}
      <div className="decide-buttons">
        <Button
          kind="primary"
          busy={run.isPending}
          disabled={broken}
          onClick={() => run.mutate({ body: { yaml_content: text } }, done)}
        >
          Import bundle
        </Button>
        <Button onClick={onClose}>Cancel</Button>
        {broken && <span className="field-error">Fix the problems before you import.</span>}
      </div>
    </Dialog>
  );
}
