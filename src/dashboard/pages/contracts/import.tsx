// A bundle that somebody has, as text or as a file, taken apart into contracts of the library.
import { type ChangeEvent, type JSX, useMemo, useState } from 'react';
import type { Reply } from '../../lib/api.ts';
import { problemsOf } from '../../lib/engine.ts';
import { useAction } from '../../lib/query.ts';
import { count, counted } from '../../lib/text.ts';
import { Failed } from '../../ui/answer.tsx';
import { Editor } from '../../ui/editor.tsx';
import { Dialog, say } from '../../ui/overlay.tsx';
import { Button } from '../../ui/parts.tsx';
import { Problems } from './form.tsx';
import { starterBundle } from './starters.ts';

/** The hub takes so many characters. */
const maxLength = 1_048_576;

export function Import({
  open,
  onClose,
}: {
  readonly open: boolean;
  readonly onClose: () => void;
}): JSX.Element {
  const [text, setText] = useState(starterBundle);
  const [refused, setRefused] = useState<string | null>(null);
  const problems = useMemo(() => (open ? problemsOf(text) : []), [open, text]);
  const broken = problems.some(({ severity }) => severity === 'error');
  const run = useAction('importContracts', ['listContracts', 'listCompositions']);
  const done = ({ contracts_created: made, contracts_updated: changed }: Reply<'importContracts'>): void => {
    say(
      `${counted(made.length, 'contract')} added, ${counted(changed.length, 'contract')} got a new version.`,
      'allow',
    );
    onClose();
  };
  const take = async ({ target }: ChangeEvent<HTMLInputElement>): Promise<void> => {
    const file = target.files?.[0];
    // The same file again is another choice.
    target.value = '';
    if (!file) return;
    if (file.size > maxLength * 4) {
      setRefused(`The file is too large: a bundle has at most ${count(maxLength)} characters.`);
      return;
    }
    const read = await file.text();
    setRefused(
      read.length > maxLength
        ? `The file is too large: a bundle has at most ${count(maxLength)} characters.`
        : null,
    );
    if (read.length <= maxLength) setText(read);
  };
  return (
    <Dialog title="Import bundle" shape="wide" open={open} onClose={onClose}>
      <p className="page-says">
        The bundle is taken apart into contracts, and a composition of its name is made unless there is one.
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
      <Problems of={problems} />
      {run.error && <Failed error={run.error} />}
      <div className="decide-buttons">
        <Button
          kind="primary"
          busy={run.isPending}
          disabled={broken}
          onClick={() => run.mutate({ body: { yaml_content: text } }, { onSuccess: done })}
        >
          Import bundle
        </Button>
        <Button onClick={onClose}>Cancel</Button>
        {broken && <span className="field-error">Solve the problems first.</span>}
      </div>
    </Dialog>
  );
}
