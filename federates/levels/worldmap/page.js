'use strict';
(() => {
  const $ = id => document.getElementById(id);
  const moments = JSON.parse($('data').textContent);
  const last = moments.length - 1;
  const now = $('now');
  let at = 0;
  let timer = 0;

  function show(i) {
    at = Math.max(0, Math.min(last, i));
    now.innerHTML = moments[at].svg;
    $('at').value = at;
    $('at').setAttribute('aria-valuetext', moments[at].at);
    document.documentElement.dataset.at = at;
  }

  function pause() {
    clearInterval(timer);
    timer = 0;
    $('play').textContent = 'Play';
    $('play').setAttribute('aria-pressed', 'false');
  }

  function play() {
    if (timer) return pause();
    if (at === last) show(0);
    $('play').textContent = 'Pause';
    $('play').setAttribute('aria-pressed', 'true');
    timer = setInterval(() => {
      show(at + 1);
      if (at === last) pause();
    }, 80);
  }

  function step(to) {
    pause();
    show(to);
  }

  $('play').addEventListener('click', play);
  $('back').addEventListener('click', () => step(at - 1));
  $('on').addEventListener('click', () => step(at + 1));
  $('at').addEventListener('input', () => step(Number($('at').value)));
  const keys = {' ': play, ArrowLeft: () => step(at - 1), ArrowRight: () => step(at + 1), Home: () => step(0), End: () => step(last)};
  document.addEventListener('keydown', e => {
    if (e.ctrlKey || e.metaKey || e.altKey || !keys[e.key] || e.key === ' ' && e.target.closest('button')) return;
    e.preventDefault();
    keys[e.key]();
  });
  show(0);
})();
