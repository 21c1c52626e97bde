// Reads trajectories with the JavaScript library that Foxglove is built on, and compares checksums.
//
//     sh packaging/mcap_core.sh
//     node packaging/read_with_mcap_core.mjs FILE ...
//
// Exit status 1 when a file can't be read to its end, or has other messages than it says.

import { open, readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { resolve } from "node:path";

const load = createRequire(resolve(".cache/mcap_core/index.js"));
const { McapIndexedReader, McapStreamReader } = load("@mcap/core");
const { FileHandleReadable } = load("@mcap/nodejs");
const { loadDecompressHandlers } = load("@mcap/support");

const decompressHandlers = await loadDecompressHandlers();

async function streamed(path) {
  const reader = new McapStreamReader({ decompressHandlers, validateCrcs: true });
  reader.append(await readFile(path));
  let messages = 0;
  for (let record; (record = reader.nextRecord()); ) {
    messages += record.type === "Message";
  }
  if (!reader.done()) throw new Error("the file has no end");
  return messages;
}

async function indexed(path) {
  const file = await open(path);
  try {
    const readable = new FileHandleReadable(file);
    const reader = await McapIndexedReader.Initialize({ readable, decompressHandlers });
    const topics = new Map();
    for await (const message of reader.readMessages()) {
      const channel = reader.channelsById.get(message.channelId);
      topics.set(channel.topic, (topics.get(channel.topic) ?? 0) + 1);
      if (channel.messageEncoding === "json") JSON.parse(new TextDecoder().decode(message.data));
    }
    for await (const attachment of reader.readAttachments()) {
      console.log(`  attachment ${attachment.name}: ${attachment.data.length} bytes`);
    }
    for (const [topic, count] of topics) console.log(`  ${topic}: ${count}`);
    return Number(reader.statistics.messageCount);
  } finally {
    await file.close();
  }
}

for (const path of process.argv.slice(2)) {
  console.log(path);
  try {
    const [inStream, inIndex] = [await streamed(path), await indexed(path)];
    if (inStream !== inIndex) throw new Error(`${inStream} messages, its index says ${inIndex}`);
  } catch (error) {
    console.log(`  FAILED: ${error.message}`);
    process.exitCode = 1;
  }
}
