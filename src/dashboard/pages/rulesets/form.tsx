// A ruleset as a document: checked while it is typed, saved as the next version, and deployed with it or not.
import { type JSX, useEffect, useMemo, useState } from 'react';
import { definitionOf, problemsOf } from '../../lib/engine.ts';
import { useHosted, useHostedAction } from '../../lib/hosted-query.ts';
import { envs } from '../../lib/search.ts';
import { counted } from '../../lib/text.ts';
import { Editor } from '../../ui/editor.tsx';
import { say } from '../../ui/overlay.tsx';
import { Button, Failed, Select } from '../../ui/parts.tsx';
import { Problems } from '../contracts/form.tsx';
import { ForceForm } from './force.tsx';
import { starterRuleset } from './starter.ts';

/** @param name the ruleset that gets a next version; absent: one is made */
export function RulesetForm({
  name,
  onDone,
}: {
  readonly name?: string;
  readonly onDone: (name: string) => void;
}): JSX.Element {
  const before = useHosted(
    'hostedGetRuleset',
    { params: { name: name ?? '' } },
    { enabled: name !== undefined },
  );
  const save = useHostedAction('hostedPutRuleset', [
    'hostedListRulesets',
    'hostedRulesetVersions',
    'hostedGetRuleset',
  ]);
  const [text, setText] = useState(name === undefined ? starterRuleset : '');
  const [target, setTarget] = useState('');
  const problems = useMemo(() => (text === '' ? [] : problemsOf(text)), [text]);
  // A document is sent to its own name.
  const called = useMemo(() => nameIn(text), [text]);
  const stored = before.data?.yaml_content;
  useEffect(() => {
    if (stored !== undefined) setText((typed) => (typed === '' ? stored : typed));
  }, [stored]);
  const submit = (forcedFor: string | null): void =>
    save.mutate(
      {
        params: { name: called },
        query: {
          ...(target === '' ? { deploy: 'false' } : { env: target }),
          ...(forcedFor === null ? {} : { force: true, reason: forcedFor }),
        },
        yaml: text,
      },
      {
        onSuccess: (made) => {
          const found =
            made.warnings.length > 0 ? ` The linter found ${counted(made.warnings.length, 'thing')}.` : '';
          say(
            `${made.created ? `v${made.version} is saved` : `v${made.version} has these bytes already`}${target === '' ? '' : ` and runs in ${target}`}.${found}`,
            'allow',
          );
          onDone(called);
        },
      },
    );
  return (
    <form
      className="form"
      onSubmit={(event) => {
        event.preventDefault();
        submit(null);
      }}
    >
      {before.error && <Failed error={before.error} />}
      <Editor label="Ruleset as YAML" value={text} onValue={setText} problems={problems} />
      <Problems of={problems} />
      {name !== undefined && called !== '' && called !== name && (
        <p className="field-error">
          metadata.name is now another one: this is saved as a ruleset of its own.
        </p>
      )}
      <Select
        label="Deploy to"
        value={target}
        options={[['', 'Nowhere: only save'], ...envs.map((env) => [env, env] as const)]}
        onValue={setTarget}
      />
      {save.error && <Failed error={save.error} />}
      <div className="decide-buttons">
        <Button kind="primary" submit busy={save.isPending} disabled={called === ''}>
          {target === '' ? 'Save ruleset' : `Save and deploy to ${target}`}
        </Button>
      </div>
      {save.error?.status === 422 && (
        <ForceForm action="Save it all the same" busy={save.isPending} onForce={submit} />
      )}
    </form>
  );
}

/** What a document says that it is called; empty when it cannot be read yet. */
function nameIn(text: string): string {
  const metadata = definitionOf(text)?.metadata;
  const name = (metadata as { readonly name?: unknown } | null | undefined)?.name;
  return typeof name === 'string' ? name : '';
}
