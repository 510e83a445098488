// A whole call to the endpoint from a page: hello, welcome, trickle, select, selected, a restart, bye. `call(options)` gives
// what was seen, and what was heard as base64 of 16-bit samples. `hangUp` is the driver's: it has the endpoint hang up.
// Evaluated in an empty page.
"use strict";

const pause = (seconds) => new Promise((done) => setTimeout(done, seconds * 1000));
const within = (promise, seconds, what) =>
    Promise.race([promise, pause(seconds).then(() => { throw new Error(`no ${what} within ${seconds} s`); })]);
const attribute = (sdp, name) => new RegExp(`^a=${name}:(.*?)\r?$`, "m").exec(sdp)[1];

class Line {
    constructor(url) {
        this.inbox = [];
        this.waiting = [];
        this.binary = 0;
        this.socket = new WebSocket(url, ["graine.call.v1"]);
        this.socket.binaryType = "arraybuffer";
        this.opened = new Promise((done, fail) => {
            this.socket.onopen = done;
            this.socket.onerror = () => fail(new Error("the line does not open"));
        });
        this.closed = new Promise((done) => { this.socket.onclose = (event) => done(event.code); });
        this.socket.onmessage = ({ data }) => {
            if (typeof data !== "string") { this.binary += 1; return; }
            this.inbox.push(JSON.parse(data));
            this.waiting.splice(0).forEach((wake) => wake());
        };
    }

    send(kind, fields) { this.socket.send(JSON.stringify({ type: `transport.${kind}`, ...fields })); }

    async expect(kind, fits = () => true) {
        const find = async () => {
            for (;;) {
                const at = this.inbox.findIndex((m) => m.type === `transport.${kind}` && fits(m));
                if (at >= 0) return this.inbox.splice(at, 1)[0];
                await new Promise((wake) => this.waiting.push(wake));
            }
        };
        const closed = this.closed.then((code) => { throw new Error(`line closed with ${code} instead of ${kind}`); });
        return within(Promise.race([find(), closed]), 10, kind);
    }
}

// An oscillator that takes its turns of a second; a track of it.
function speak(context, tones, level) {
    const oscillator = new OscillatorNode(context);
    for (let second = 0; second < 60; second += 1) {
        oscillator.frequency.setValueAtTime(tones[second % 2], context.currentTime + second);
    }
    const out = context.createMediaStreamDestination();
    oscillator.connect(new GainNode(context, { gain: level })).connect(out);
    oscillator.start();
    return out.stream.getAudioTracks()[0];
}

// Collects what a track plays. A script processor: a worklet's module may not be loaded by a page without an origin.
function listen(context, stream, heard) {
    // WebRTC's audio flows only to an element that plays it.
    const element = new Audio();
    element.srcObject = stream;
    element.muted = true;
    element.play();
    const tap = context.createScriptProcessor(4096, 1, 1);
    tap.onaudioprocess = ({ inputBuffer }) => heard.push(inputBuffer.getChannelData(0).slice());
    context.createMediaStreamSource(stream).connect(tap).connect(context.destination);
    return [element, tap];
}

function packed(blocks) {
    const samples = Int16Array.from(blocks.flatMap((block) => Array.from(block, (x) => Math.max(-1, Math.min(1, x)) * 32767)));
    const bytes = new Uint8Array(samples.buffer);
    let text = "";
    for (let at = 0; at < bytes.length; at += 0x8000) text += String.fromCharCode(...bytes.subarray(at, at + 0x8000));
    return btoa(text);
}

async function facts(peer) {
    const stats = Array.from((await peer.getStats()).values());
    const only = (type) => stats.find((s) => s.type === type) ?? {};
    const transport = only("transport");
    return {
        peer_dtls: { FEFD: "DTLSv1.2", FEFC: "DTLSv1.3" }[transport.tlsVersion] ?? transport.tlsVersion,
        peer_profile: transport.srtpCipher,
        received: only("inbound-rtp").packetsReceived, lost: only("inbound-rtp").packetsLost,
        lost_there: only("remote-inbound-rtp").packetsLost,
    };
}

async function call({ url, name, version, hangUpHere, tones, level, talk, hangUp }) {
    const context = new AudioContext({ sampleRate: 48000 });
    await within(context.resume(), 10, "audio");
    const heard = [];
    const candidates = [];
    let kept;
    const peer = new RTCPeerConnection();
    const line = new Line(url);
    await within(line.opened, 10, "line");
    peer.onicecandidate = ({ candidate }) => {
        if (!candidate?.candidate) return;
        candidates.push(candidate.candidate);
        line.send("candidate", { candidate: candidate.candidate, ufrag: candidate.usernameFragment });
    };
    const unmuted = new Promise((done) => {
        peer.ontrack = ({ track, streams }) => {
            kept = listen(context, streams[0] ?? new MediaStream([track]), heard);
            if (track.muted) track.onunmute = done; else done();
        };
    });
    const voice = speak(context, tones, level);
    peer.addTrack(voice, new MediaStream([voice]));
    const offer = await peer.createOffer();
    const number = Number(/^a=rtpmap:(\d+) opus\/48000\/2/mi.exec(offer.sdp)[1]);
    const began = performance.now();
    line.send("hello", {
        version: 1, call_id: `interop-${Math.random()}`, preference: "auto", transports: ["webrtc", "websocket"],
        client: { sdk: name, version, app_version: "1", platform: navigator.platform },
        audio: {
            codecs: ["opus/48000/2"], payload_types: { "opus/48000/2": number }, ssrc: 0x1234567, ptime: 20, red: [],
        },
        liveness_ms: 100, webrtc: { sdp: offer.sdp },
    });
    await peer.setLocalDescription(offer);
    const welcome = await line.expect("welcome");
    if (!welcome.webrtc) throw new Error(`no answer: ${JSON.stringify(welcome)}`);
    await peer.setRemoteDescription({ type: "answer", sdp: welcome.webrtc.sdp });
    await within(unmuted, 10, "audio of the endpoint");
    line.send("select", { epoch: 1, transport: "webrtc", fallback: null, heard_to: null });
    await line.expect("selected", (m) => m.epoch === 1 && m.heard);
    const result = { active_ms: Math.round(performance.now() - began) };
    await pause(talk);
    let restartedAt = 0;
    if (hangUpHere) {
        const again = await peer.createOffer({ iceRestart: true });
        const ufrag = attribute(again.sdp, "ice-ufrag");
        line.send("restart", { ufrag, sdp: again.sdp });
        await peer.setLocalDescription(again);
        const restarted = await line.expect("restarted", (m) => m.ufrag === ufrag);
        await peer.setRemoteDescription({ type: "answer", sdp: restarted.sdp });
        restartedAt = heard.length;
        await pause(talk);
        result.restart = "yes";
    }
    Object.assign(result, await facts(peer));
    if (hangUpHere) line.send("bye", { by: "client" });
    else {
        hangUp("");
        result.bye = await line.expect("bye");
    }
    result.close_code = await within(line.closed, 10, "close");
    peer.close();
    kept[1].onaudioprocess = null;
    const first = restartedAt || heard.length;
    return { ...result, candidates, line_audio: line.binary, first: packed(heard.slice(0, first)), rest: packed(heard.slice(first)) };
}
