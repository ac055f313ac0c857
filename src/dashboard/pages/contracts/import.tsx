// The import of a bundle from a text or a file: splits it into contracts of the library.
import { type ChangeEvent, type JSX, useState } from 'react';
import type { Reply } from '../../lib/api.ts';
import { useProblems } from '../../lib/own-words.ts';
import { useAction } from '../../lib/query.ts';
import { count, counted } from '../../lib/text.ts';
import { Dialog } from '../../ui/dialog.tsx';
import { Editor } from '../../ui/editor.tsx';
import { Form } from '../../ui/form.tsx';
import { say } from '../../ui/messages.tsx';
import { Button } from '../../ui/parts.tsx';
import { starterBundle } from './starters.ts';

/** The hub's limit, in characters. */
const maxLength = 1_048_576;

export function Import({ open, onClose }: Readonly<{ open: boolean; onClose: () => void }>): JSX.Element {
  const [text, setText] = useState(starterBundle);
  const [isTooLarge, setTooLarge] = useState(false);
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
    // No character has more than four bytes.
    const content = file.size > maxLength * 4 ? null : await file.text();
    const canBeRead = content !== null && content.length <= maxLength;
    setTooLarge(!canBeRead);
    if (canBeRead) setText(content);
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
      {isTooLarge && (
        <p className="field-error" role="alert">
          The file is too large. A bundle can have {count(maxLength)} characters. Choose a smaller file.
        </p>
      )}
      <Form
        by={run}
        act="Import bundle"
        isOff={broken}
        onSubmit={() => run.mutate({ body: { yaml_content: text } }, done)}
        buttons={
          <>
            <Button onClick={onClose}>Cancel</Button>
            {broken && <span className="field-error">Fix the problems before you import.</span>}
          </>
        }
      >
        {open && <Editor label="Bundle as YAML" value={text} onValue={setText} problems={problems} />}
      </Form>
    </Dialog>
  );
}
