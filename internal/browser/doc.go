// Package browser is a headless Chromium for tests of what people look at: it opens a page, clicks on it, asks it, takes
// its picture, and fails the test for whatever the page writes to its console as an error.
//
// It speaks the DevTools protocol over a pipe. Where there is no Chromium the test is skipped, loudly; METASIM_PICTURES
// names a directory in which pictures are kept, for somebody to look at.
package browser
