import sharp from 'sharp';
import { expect, test } from 'vitest';
import { cpuUnit, expectCpu } from '../support/cpu-cost.js';
import { createTestApp } from '../support/create-test-app.js';
import { noise } from '../support/noise.js';
import { createPerson, signIn } from '../support/sessions.js';
import { insertWorkspace } from '../support/workspace-row.js';

const picture = (width = 40, height = 30, background = '#3366cc') =>
  sharp({ create: { width, height, channels: 3, background } });

async function stage() {
  const app = await createTestApp();
  const at = `/api/avatars/account/${app.tenant}`;
  const put = (body: Uint8Array, path = at, type = 'image/png') =>
    app.request(path, { method: 'PUT', body: new Uint8Array(body), headers: { 'content-type': type } });
  return { app, at, put };
}

test('a PNG, a JPEG and a WebP become a picture that is encoded anew, a square of 512 pixels at most', async () => {
  const { app, at, put } = await stage();
  const big = picture(2_000, 1_000);
  for (const bytes of [await big.png().toBuffer(), await big.jpeg().toBuffer(), await big.webp().toBuffer()]) {
    const answer = await put(bytes);
    expect([answer.status, await answer.json()]).toEqual([
      200,
      { ok: true, url: expect.stringMatching(new RegExp(`^${at}\\?v=[0-9a-f]{16}$`)) },
    ]);
    const got = await app.get(at);
    expect([got.headers.get('content-type'), got.headers.get('cache-control')]).toEqual([
      'image/webp',
      'private, max-age=31536000, immutable',
    ]);
    expect(await sharp(Buffer.from(await got.arrayBuffer())).metadata()).toMatchObject({
      format: 'webp',
      width: 512,
      height: 256,
    });
  }
});

test('the address of a picture changes with the picture and with nothing else', async () => {
  const { put } = await stage();
  const url = async (background: string) =>
    ((await (await put(await picture(20, 20, background).png().toBuffer())).json()) as { url: string }).url;
  const [red, blue, redAgain] = [await url('#ff0000'), await url('#0000ff'), await url('#ff0000')];
  expect(red).not.toBe(blue);
  expect(redAgain).toBe(red);
});

test('where a photo was taken, and whatever else its file held, is gone', async () => {
  const { app, at, put } = await stage();
  const withExif = await picture()
    .withExif({ IFD0: { Copyright: 'canary-in-exif' } })
    .jpeg()
    .toBuffer();
  expect(withExif.includes('canary-in-exif')).toBe(true);
  const tail = Buffer.concat([withExif, Buffer.from('<script>canary-behind</script>')]);
  expect((await put(tail, at, 'image/jpeg')).status).toBe(200);
  const stored = Buffer.from(await (await app.get(at)).arrayBuffer()).toString('latin1');
  expect(stored).not.toMatch(/canary/);
});

/** A PNG of a few bytes that says it has so many pixels. */
async function bomb(width: number, height: number): Promise<Buffer> {
  const png = await picture(8, 8).png().toBuffer();
  png.writeUInt32BE(width, 16);
  png.writeUInt32BE(height, 20);
  const { crc32 } = await import('node:zlib');
  png.writeUInt32BE(crc32(png.subarray(12, 29)), 29);
  return png;
}

test('a hostile picture costs its own request a 422 and no more work than a picture does, and nobody else anything', async () => {
  const { app, at, put } = await stage();
  const png = await picture().png().toBuffer();
  const jpeg = await picture(600, 600).jpeg().toBuffer();
  const hostile: Readonly<Record<string, Buffer>> = {
    nothing: Buffer.alloc(0),
    noise: noise(10_000),
    svg: Buffer.from('<svg xmlns="http://www.w3.org/2000/svg"><image href="file:///etc/passwd"/></svg>'),
    gif: Buffer.from('R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7', 'base64'),
    bomb: await bomb(60_000, 60_000),
    wide: await bomb(2_000_000_000, 1),
    cut: jpeg.subarray(0, jpeg.length / 2),
    'a head alone': png.subarray(0, 33),
    'noise behind a head': Buffer.concat([png.subarray(0, 33), noise(5_000)]),
    'noise as WebP': Buffer.concat([Buffer.from('RIFF\x10\x27\x00\x00WEBPVP8 ', 'latin1'), noise(10_000)]),
  };
  const other = await stage();
  const ordinary = cpuUnit(async () => expect((await other.put(jpeg)).status).toBe(200));
  for (const [what, bytes] of Object.entries(hostile)) {
    const [bad, good] = await Promise.all([put(bytes), app.get('/api/me')]);
    expect([what, bad.status, good.status]).toEqual([what, 422, 200]);
    expect(await bad.json()).toMatchObject({ error: expect.stringMatching(/picture/) });
    // To make a picture of the bomb is the work of thousands.
    await expectCpu(() => put(bytes), { atMost: 20, unit: ordinary });
  }
  expect((await app.get(at)).status).toBe(404);
});

test('a picture of 1 MB is refused before it is read', async () => {
  const { put } = await stage();
  expect((await put(Buffer.alloc(1_000_000, 1))).status).toBe(413);
});

test('a browser that has the picture gets no second copy', async () => {
  const { app, at, put } = await stage();
  await put(await picture().png().toBuffer());
  const etag = (await app.get(at)).headers.get('etag') ?? '';
  expect((await app.get(at, { headers: { 'if-none-match': etag } })).status).toBe(304);
  await put(await picture(9, 9, '#00ff00').png().toBuffer());
  expect((await app.get(at, { headers: { 'if-none-match': etag } })).status).toBe(200);
});

test('a person’s picture shows in the team, stays when nothing changes it, and goes with its removal', async () => {
  const { app } = await stage();
  const person = await createPerson(app, 'viewer');
  const { cookie } = await signIn(app, person);
  const at = `/api/avatars/user/${person.id}`;
  const headers = { cookie, 'sec-fetch-site': 'same-origin', 'content-type': 'image/png' };
  const body = new Uint8Array(await picture().png().toBuffer());
  const set = await app.request(at, { as: null, method: 'PUT', body, headers });
  const { url } = (await set.json()) as { url: string };
  const shown = async () =>
    ((await (await app.get('/api/team')).json()) as { members: { id: string; avatar: string | null }[] }).members.find(
      ({ id }) => id === person.id,
    )?.avatar;
  expect(await shown()).toBe(url);
  expect(await (await app.get('/api/me', { as: null, headers: { cookie } })).json()).toMatchObject({ avatar: url });
  expect((await app.get(url)).status).toBe(200);
  expect((await app.request(`${at}?v=1`, { as: null, method: 'DELETE', headers })).status).toBe(200);
  expect(await shown()).toBeNull();
  expect((await app.request(at, { as: null, method: 'DELETE', headers })).status).toBe(404);
});

test.each(['user', 'workspace', 'account'])('a %s named with a NUL is refused or not found', async (kind) => {
  const { app } = await stage();
  for (const text of ['%00', 'a%00b'])
    expect([404, 422]).toContain((await app.get(`/api/avatars/${kind}/${text}`)).status);
});

test('a workspace has a picture, and who does not see the workspace does not see it', async () => {
  const { app, put } = await stage();
  await insertWorkspace(app.deps, app.tenant, 'shop');
  const at = '/api/avatars/workspace/shop';
  expect((await put(await picture().png().toBuffer(), at)).status).toBe(200);
  expect((await app.get(at)).status).toBe(200);
  const { avatar } = (await (await app.get('/api/workspaces/shop')).json()) as { avatar: string };
  expect(avatar).toMatch(/^\/api\/avatars\/workspace\/shop\?v=/);
  expect((await app.get('/api/avatars/workspace/nowhere')).status).toBe(404);
  expect((await app.get('/api/avatars/planet/mars')).status).toBe(404);
  expect((await app.get('/api/avatars/account/another')).status).toBe(404);
});
