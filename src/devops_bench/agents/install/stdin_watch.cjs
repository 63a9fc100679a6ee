// Loaded into npm: ends it when whoever started it has gone, so that a killed installer leaves nothing behind.
process.stdin.on('end', () => process.exit(1)).on('error', () => process.exit(1)).resume();
process.stdin.unref?.();
