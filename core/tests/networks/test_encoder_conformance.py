"""Core's encoders keep to their contract."""

from __future__ import annotations

from agents_core.testing import EncoderConformance


class TestVector(EncoderConformance):
    component = "vector"


class TestFullyConnected(EncoderConformance):
    component = "fully_connected"


class TestSimple(EncoderConformance):
    component = "simple"


class TestNatureCNN(EncoderConformance):
    component = "nature_cnn"


class TestResNet(EncoderConformance):
    component = "resnet"


class TestMatch3(EncoderConformance):
    component = "match3"


class TestSymbolic(EncoderConformance):
    component = "symbolic"


class TestEntities(EncoderConformance):
    component = "entities"
