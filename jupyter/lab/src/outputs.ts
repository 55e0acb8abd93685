// Turns messages into the outputs of a cell, as JupyterLab's own output area does.

import type * as nbformat from '@jupyterlab/nbformat';
import type { IOutputAreaModel } from '@jupyterlab/outputarea';
import type { JSONObject } from '@lumino/coreutils';

import type { IOutput, LoggedOutput } from './tokens';

const OUTPUT_TYPES = new Set([
  'stream',
  'display_data',
  'execute_result',
  'error',
  'update_display_data',
  'clear_output'
]);

/** Whether messages of this type change what a cell shows. */
export function isOutput(msgType: string): boolean {
  return OUTPUT_TYPES.has(msgType);
}

/** The id of the display that a message makes or updates; empty if it has none. */
export function displayOf(content: JSONObject): string {
  const transient = content['transient'] as JSONObject | undefined;
  const id = transient?.['display_id'];
  return typeof id === 'string' ? id : '';
}

/** The output that a notebook stores for a message. */
export function bundleOf(msgType: string, content: JSONObject): nbformat.IOutput {
  const kept = { ...content };
  delete kept['transient'];
  return { ...kept, output_type: msgType === 'update_display_data' ? 'display_data' : msgType };
}

/**
 * Shows a message. Updates of displays are not shown here but by Displays, because another cell may
 * have the display.
 */
export function show(outputs: IOutputAreaModel, msgType: string, content: JSONObject): void {
  if (msgType === 'clear_output') {
    outputs.clear(content['wait'] === true);
  } else if (msgType !== 'update_display_data') {
    outputs.add(bundleOf(msgType, content));
  }
}

function streamOf(output: LoggedOutput | undefined): string | null {
  if (output === undefined || 'missing' in output || output.msg_type !== 'stream') return null;
  return output.content['name'] as string;
}

/**
 * The same outputs in fewer messages: neighbouring texts of one stream are joined, as a cell may
 * print thousands.
 */
export function joined(outputs: readonly LoggedOutput[]): LoggedOutput[] {
  const result: LoggedOutput[] = [];
  let texts: string[] = [];
  outputs.forEach((output, index) => {
    const name = streamOf(output);
    if (name === null) {
      result.push(output);
      return;
    }
    const message = output as IOutput;
    texts.push(message.content['text'] as string);
    if (streamOf(outputs[index + 1]) === name) return;
    result.push({ ...message, content: { name, text: texts.join('') } });
    texts = [];
  });
  return result;
}

/** The output that is shown in the place of outputs that were not kept. */
export function missingNote(count: number): JSONObject {
  const messages = count === 1 ? '1 message of output is' : `${count} messages of output are`;
  return {
    name: 'stderr',
    text: `[banyan: ${messages} missing here: the session's log keeps the first part of a cell's output only]\n`
  };
}

/**
 * The outputs of a list as a person sees them, for a comparison. What was typed into input() is left out, as
 * it is not in the log.
 */
export function comparable(outputs: readonly nbformat.IOutput[]): nbformat.IOutput[] {
  const result: nbformat.IOutput[] = [];
  for (const output of outputs) {
    if (output.output_type !== 'stream') {
      result.push(output);
      continue;
    }
    if (output['name'] === 'stdin') continue;
    const raw = output['text'] as string | string[];
    const text = typeof raw === 'string' ? raw : raw.join('');
    const last = result[result.length - 1];
    if (last?.output_type === 'stream' && last['name'] === output['name']) {
      result[result.length - 1] = { ...last, text: (last['text'] as string) + text };
    } else {
      result.push({ output_type: 'stream', name: output['name'] as string, text });
    }
  }
  return result;
}
