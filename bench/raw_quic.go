package bench

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"io"
	"math/big"
	"time"

	quicgo "github.com/quic-go/quic-go"
)

// rawALPN names the raw protocol to TLS.
const rawALPN = "raw"

// listenRawQUIC listens with a certificate that is not checked: what is measured is the loopback interface.
func listenRawQUIC(string) (*rawListener, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().AddDate(1, 0, 0)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		return nil, err
	}
	l, err := quicgo.ListenAddr("127.0.0.1:0", &tls.Config{
		Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}, NextProtos: []string{rawALPN},
	}, nil)
	if err != nil {
		return nil, err
	}
	return &rawListener{l.Addr().String(), func(ctx context.Context) (io.ReadWriteCloser, error) {
		c, err := l.Accept(ctx)
		if err != nil {
			return nil, err
		}
		s, err := c.AcceptStream(ctx)
		return &quicStream{s, c}, err
	}, l.Close}, nil
}

func dialRawQUIC(ctx context.Context, host string) (io.ReadWriteCloser, error) {
	c, err := quicgo.DialAddr(ctx, host, &tls.Config{InsecureSkipVerify: true, NextProtos: []string{rawALPN}}, nil)
	if err != nil {
		return nil, err
	}
	s, err := c.OpenStreamSync(ctx)
	return &quicStream{s, c}, err
}

// A quicStream takes its connection with it.
type quicStream struct {
	*quicgo.Stream
	conn *quicgo.Conn
}

func (s *quicStream) Close() error { return s.conn.CloseWithError(0, "") }
