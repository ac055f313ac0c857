// A choice from a long list: the options that contain the typed text, as suggestions below the field.
import { Combobox } from '@base-ui/react/combobox';
import { Field } from '@base-ui/react/field';
import { type ComponentProps, type JSX, useState } from 'react';
import './query-bar.css';
import { middleCut, visible } from '../lib/text.ts';
import type { ChoiceProps } from './choice.tsx';
import { FieldError, type SelectProps } from './form.tsx';

/** Suggestions below the field; more typing finds the others. */
const maxSuggestions = 50;

interface Option {
  readonly value: string;
  readonly label: string;
}

const optionOf = (one: SelectProps['options'][number]): Option => {
  const [value, label] = typeof one === 'string' ? [one, one] : one;
  return { value, label: middleCut(visible(label), 120) };
};

export default function SearchedChoice(props: ChoiceProps): JSX.Element {
  const { label, compact, name, value, onValue, onSearch, matchesOf, className = '' } = props;
  /** Null: nothing was typed, and the field contains the chosen option. */
  const [text, setText] = useState<string | null>(null);
  const [isOpen, setOpen] = useState(false);
  const options = props.options.map(optionOf);
  const chosen = options.find((one) => one.value === value) ?? null;
  const typed = (text ?? '').trim();
  const isMatch = (one: Option): boolean =>
    typed !== '' && typed === matchesOf
      ? one.value !== ''
      : one.label.toLowerCase().includes(typed.toLowerCase());
  const matches = options.filter(isMatch).slice(0, maxSuggestions);
  const close = (): void => {
    setText(null);
    setOpen(false);
    onSearch?.('');
  };
  const leave: ComponentProps<typeof Combobox.Input>['onKeyDown'] = (event) => {
    if (event.key !== 'Escape' || !isOpen) return;
    // The library would empty the field, and a dialog around it would close.
    event.preventBaseUIHandler();
    event.stopPropagation();
    close();
  };
  return (
    <Field.Root name={name} className={`field ${compact ? 'field-compact' : ''} ${className}`}>
      <Field.Label className={compact ? 'heard' : undefined}>{label}</Field.Label>
      <Combobox.Root
        inline
        autoHighlight
        items={matches}
        filter={null}
        open={isOpen}
        onOpenChange={setOpen}
        value={chosen}
        isItemEqualToValue={(a, b) => a.value === b.value}
        onValueChange={(next) => {
          if (next) onValue(next.value);
          close();
        }}
        inputValue={text ?? chosen?.label ?? ''}
        onInputValueChange={(next, { reason }) => {
          if (reason !== 'input-change') return;
          setText(next);
          setOpen(true);
          onSearch?.(next.trim());
        }}
      >
        <div className="query-bar">
          <Combobox.Input
            onFocus={({ currentTarget }) => currentTarget.select()}
            onClick={() => setOpen(true)}
            onKeyDown={leave}
            onBlur={close}
          />
          {isOpen && (
            <Combobox.List aria-label={`Options of ${label}`} className="query-choices choices">
              {matches.map((option) => (
                <Combobox.Item key={option.value} value={option} className="query-choice row apart">
                  {option.label}
                </Combobox.Item>
              ))}
            </Combobox.List>
          )}
        </div>
      </Combobox.Root>
      <FieldError />
    </Field.Root>
  );
}
